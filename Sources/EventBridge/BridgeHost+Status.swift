public import DomainEvents
import Supervision

/// The workers' states, first as a snapshot and then change by change.
///
/// A receiver gets the states in one of the ways of `EventPublisher`: in an inline handler (on the thread of the
/// bridge's reports), on the main actor, on a queue, in an asynchronous handler, or as a sequence. First comes a
/// snapshot of all workers; each further update also names the worker that has changed. No change is missed, repeated
/// or out of order. Lifecycle events on the bridge's publisher, such as ``WorkerReady``, report what happens; these
/// updates contain the present states.
extension BridgeHost {
    /// Calls `handler` with the states of all workers now, and then with each change.
    ///
    /// The first call of `handler` comes before this function returns, or soon after if an event's handler calls this
    /// function. Changes during the first call follow on the same thread. All further calls come on the thread of the
    /// bridge's reports: a slow handler holds up other reports and the calls that wait for reports, and nothing else.
    public func subscribeToStatus(
        _ handler: @escaping @Sendable (WorkerStatusUpdate) -> Void
    ) -> Subscription {
        subscribeToStatus { publisher in
            publisher.subscribe(to: StatusDelivery.self) { handler($0.update) }
        }
    }

    /// Calls `handler` with the states of all workers and then with each change, on the main actor.
    public func subscribeToStatus(
        on context: MainDelivery,
        _ handler: @escaping @MainActor @Sendable (WorkerStatusUpdate) -> Void
    ) -> Subscription {
        subscribeToStatus { publisher in
            publisher.subscribe(to: StatusDelivery.self, on: context) { handler($0.update) }
        }
    }

    /// Calls `handler` with the states of all workers and then with each change, on a queue.
    public func subscribeToStatus(
        on context: QueueDelivery,
        _ handler: @escaping @Sendable (WorkerStatusUpdate) -> Void
    ) -> Subscription {
        subscribeToStatus { publisher in
            publisher.subscribe(to: StatusDelivery.self, on: context) { handler($0.update) }
        }
    }

    /// Calls an asynchronous `handler` with the states of all workers and then with each change, one at a time.
    public func subscribeToStatus(
        _ handler: @escaping @Sendable (WorkerStatusUpdate) async -> Void
    ) -> Subscription {
        subscribeToStatus { publisher in
            publisher.subscribe(to: StatusDelivery.self) { delivery async in await handler(delivery.update) }
        }
    }

    /// The states of all workers, and then each change; every iterator begins with a snapshot of its own.
    ///
    /// The sequence ends when all workers have been stopped for good. A slow consumer misses no change.
    ///
    /// ```swift
    /// for await update in bridge.statusUpdates { show(update.workers) }
    /// ```
    public var statusUpdates: WorkerStatusUpdates { WorkerStatusUpdates(board: core.statusBoard) }

    private func subscribeToStatus(_ subscribe: (EventPublisher) -> Subscription) -> Subscription {
        // Each call has a publisher of its own, whose only subscriber is the caller's handler.
        let publisher = EventPublisher()
        let subscription = subscribe(publisher)
        core.statusBoard.add(
            StatusFeed(on: core.reports) { update in
                guard publisher.isWanted(StatusDelivery.eventName) else { return false }
                publisher.publish(StatusDelivery(update: update))
                return true
            }
        )
        return subscription
    }
}

/// The updates of the workers' states as a sequence: see ``BridgeHost/statusUpdates``.
public struct WorkerStatusUpdates: AsyncSequence, Sendable {
    /// The elements: updates with all workers and the one that has changed.
    public typealias Element = WorkerStatusUpdate

    /// The sequence never fails.
    public typealias Failure = Never

    let board: StatusBoard

    /// Makes an iterator whose first update is a snapshot of this moment.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncStream.makeStream(of: WorkerStatusUpdate.self)
        let feed = StatusFeed(
            sink: { update in
                if case .terminated = continuation.yield(update) { false } else { true }
            },
            end: { continuation.finish() }
        )
        board.add(feed)
        continuation.onTermination = { [weak board, weak feed] _ in
            if let feed { board?.remove(feed) }
        }
        return Iterator(base: stream.makeAsyncIterator())
    }

    /// One consumer of the updates.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<WorkerStatusUpdate>.Iterator

        /// The next update; nil when all workers have been stopped for good.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> WorkerStatusUpdate? {
            await base.next(isolation: actor)
        }
    }
}

/// Carries an update through a publisher of this process; no other process can get it.
private struct StatusDelivery: DomainEvent {
    private struct StaysHere: Error {}

    let update: WorkerStatusUpdate

    init(update: WorkerStatusUpdate) {
        self.update = update
    }

    init(from decoder: any Decoder) throws { throw StaysHere() }

    func encode(to encoder: any Encoder) throws { throw StaysHere() }
}
