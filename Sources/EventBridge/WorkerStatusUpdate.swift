public import Supervision

/// What is known of a worker: its state, its process, its starts and how they ended.
public typealias WorkerStatus = ChildStatus

/// What a subscriber to the workers' states gets: all workers, and the one that has just changed.
public struct WorkerStatusUpdate: Sendable, Hashable {
    /// All workers, in the order of their specifications, as they were at the moment of this update; workers that were
    /// added while the bridge runs come last.
    public let workers: [WorkerStatus]

    /// The worker that has changed, as it is in ``workers``; nil in the first update, which is the snapshot.
    ///
    /// If the worker is not in ``workers``, it was removed, and this is its last state.
    public let changed: WorkerStatus?
}

extension WorkerStatusUpdate {
    /// The status of the worker of this name; nil if there is none.
    public subscript(worker: String) -> WorkerStatus? { workers.first { $0.name == worker } }
}
