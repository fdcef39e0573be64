import Dispatch

/// Runs the steps of tasks on a queue: they may wait, which a thread of Swift's own pool must not.
final class QueueExecutor: TaskExecutor {
    let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
