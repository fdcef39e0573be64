import BridgePlatform
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Starts workers, and reports to the supervisor how each start went.
extension HostCore {
    func specification(_ index: Int) -> WorkerSpecification { worker(index).specification }

    /// The worker's present start, or its last one.
    func present(_ index: Int) -> WorkerIncarnation? { worker(index).starts.present }

    func launch(index: Int, start number: Int) {
        let (specification, peer) = (specification(index), worker(index).peer)
        let incarnation = WorkerIncarnation(
            index: index,
            number: number,
            specification: specification,
            peer: peer,
            poller: poller,
            host: self
        )
        let mayStart = lock.withLock {
            workers[index].starts.launch(incarnation)
            return !isAbandoned
        }
        guard mayStart else { return }
        peer.reopen()
        start(incarnation, isSuccessor: false)
    }

    /// Starts, beside the present process, the process that is to replace it.
    func launchSuccessor(index: Int, start number: Int, request: Int) {
        let specification = lock.withLock {
            replacements[request]?.isStarted = true
            return replacements[request]?.specification
        }
        guard let specification else { return }
        let peer = worker(index).peer
        let incarnation = WorkerIncarnation(
            index: index,
            number: number,
            specification: specification,
            peer: peer,
            succeedingOver: peer.makeSuccessor(),
            poller: poller,
            host: self
        )
        let mayStart = lock.withLock {
            workers[index].starts.launch(successor: incarnation)
            return !isAbandoned
        }
        if mayStart { start(incarnation, isSuccessor: true) }
    }

    private func start(_ incarnation: WorkerIncarnation, isSuccessor: Bool) {
        let specification = incarnation.specification
        let hosted = worker(incarnation.index)
        let order = LaunchOrder(
            specification: specification.child,
            isSuccessor: isSuccessor,
            box: specification.box,
            writablePaths: specification.box?.files == nil ? [] : writablePaths,
            cookie: incarnation.cookie,
            limits: specification.limits.link,
            poller: poller,
            output: { [gate = hosted.output, printed = hosted.printed, weak incarnation] line, isError in
                incarnation?.printed(line)
                // The log comes before the gate, so that a receiver of a line finds it in the log.
                printed.add(line, isError: isError)
                gate.take(line, isError: isError)
            },
            leftBehind: { [reports] pid, found in
                reports.publish(WorkerLeftBehind(worker: specification.name, pid: pid, found))
            },
            keptOutbox: { [outboxes, incarnation = incarnation.incarnation] in
                outboxes.make(for: specification.name, incarnation, specification.limits.link)
            }
        )
        launcher.launch(order) { [weak self] result in
            if let self {
                launched(incarnation, result)
            } else if case .success(let worker) = result {
                // The host was released while the process was being started: no other code knows of the process.
                worker.process.signal(.kill)
            }
        }
    }

    /// The absolute paths that the boxes of all workers make writable, including the boxes of processes that still run
    /// by an earlier specification.
    private var writablePaths: [String] {
        let all = lock.withLock {
            workers.filter { !$0.isRemoved }.flatMap { [$0.specification] + $0.starts.all.map(\.specification) }
        }
        return all.flatMap { $0.box?.writablePaths(in: $0.child.workingDirectory) ?? [] }
    }

    private func launched(_ incarnation: WorkerIncarnation, _ result: Result<LaunchedWorker, LaunchFailure>) {
        switch result {
        case .failure(let failure):
            outboxes.remove(incarnation.incarnation)
            supervisor?.childSpawnFailed(
                index: incarnation.index,
                start: incarnation.number,
                reason: failure.reason
            )
        case .success(let worker):
            // This comes first: in `childSpawned` the supervisor signals a child whose stop was requested meanwhile.
            guard incarnation.spawned(worker) else { return }
            if !worker.missingFromBox.isEmpty {
                reports.publish(
                    WorkerBoxIncomplete(
                        worker: incarnation.specification.name,
                        pid: worker.process.processIdentifier,
                        missing: worker.missingFromBox
                    )
                )
            }
            supervisor?.childSpawned(
                index: incarnation.index,
                start: incarnation.number,
                pid: worker.process.processIdentifier
            )
            incarnation.begin(worker)
        }
    }
}
