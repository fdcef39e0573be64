public import DomainEvents
public import Foundation

extension QueueDelivery {
    /// The given operation queue, for code that uses Foundation's queues.
    ///
    /// As on a dispatch queue, the events of one publisher form one strand: the handlers run one at a time and in
    /// order, whatever the queue's `maxConcurrentOperationCount`. Publishing never waits for the queue. While the queue
    /// is suspended, events wait. `cancelAllOperations()` cancels only your own operations, and no event: to get no
    /// more events, cancel the subscription.
    ///
    /// For the main thread prefer `on: .main`, whose handlers belong to the main actor.
    public static func operationQueue(_ queue: OperationQueue) -> QueueDelivery {
        QueueDelivery(executor: StrandExecutor(queue) { work in queue.addOperation(StrandOperation(work)) })
    }
}

/// Runs a strand of events on an operation queue.
private final class StrandOperation: Operation, @unchecked Sendable {
    // Sendable: the one stored property never changes.
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }

    override func main() { work() }

    /// Does nothing: a queue never calls `main` of a cancelled operation, and the strand would wait for that call for
    /// ever.
    override func cancel() {}
}
