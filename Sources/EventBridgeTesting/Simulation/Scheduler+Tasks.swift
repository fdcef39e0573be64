import Locks

/// Runs tasks and the work of queues on threads of the world.
extension Scheduler {
    func enqueue(_ job: UnownedJob, of process: Int) {
        if current() != nil { return add(.job(job), to: processes[process]) }
        // The job comes from outside, such as from the test's own task.
        inbox.add(job, to: process)
    }

    func takeInbox() {
        for (process, job) in inbox.takeAll() { add(.job(job), to: processes[process]) }
    }

    func add(_ work: WorldExecutor.Work, to process: WorldProcess) {
        let executor = process.executor
        executor.work.append(work)
        if let thread = executor.idle.popLast() {
            waiting.removeAll { $0 === thread }
            thread.state = .ready
            ready.append(thread)
        } else if executor.threads < WorldExecutor.width {
            executor.threads += 1
            _ = start(name: "tasks", in: process) { [self] in runWork(of: process) }
        }
    }

    private func runWork(of process: WorldProcess) {
        guard let thread = current() else { return }
        let executor = process.executor
        while true {
            while !executor.work.isEmpty {
                picks += 1
                let shuffles = shuffles
                let count = UInt64(executor.work.count)
                let chosen = choices.choose("task", picks, below: count) { shuffles ? $0.next(below: count) : 0 }
                switch executor.work.remove(at: Int(chosen)) {
                case .job(let job): job.runSynchronously(on: executor.asUnownedTaskExecutor())
                case .call(let body): body()
                }
                point(thread)
            }
            if isClosing {
                executor.threads -= 1
                return
            }
            executor.idle.append(thread)
            _ = wait(thread, for: .work, until: nil)
        }
    }

    func perform(on queue: any AnyObject & Sendable, of process: WorldProcess, _ work: @escaping @Sendable () -> Void) {
        let identity = ObjectIdentifier(queue)
        if process.queues[identity] != nil {
            process.queues[identity]?.work.append(work)
            return
        }
        process.queues[identity] = WorldProcess.QueueLine(owner: queue, work: [work])
        _ = start(name: "queue", in: process) {
            while let next = process.queues[identity]?.work.first {
                process.queues[identity]?.work.removeFirst()
                next()
            }
            process.queues[identity] = nil
        }
    }
}
