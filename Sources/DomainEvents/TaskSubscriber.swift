import Locks

/// An asynchronous handler, or one on an actor: each call begins when the one before has returned.
final class TaskSubscriber<E: DomainEvent>: DeferredSubscriber<E>, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    enum Handler: Sendable {
        /// Entered where it is isolated.
        case closure(@isolated(any) @Sendable (E) async throws -> Void)
        /// Finds its actor itself, and enters the gate there.
        case entering(@Sendable (E, CallGate) async throws -> Void)

        var isolation: (any Actor)? {
            switch self {
            case .closure(let closure): closure.isolation
            case .entering: nil
            }
        }
    }

    private var waiting = Fifo<PendingDelivery<E>>()
    private var isScheduled = false
    private var handler: Handler?
    private weak let publisher: EventPublisher?

    /// The actor is given back after so many events, so that others get their turn.
    private static var burst: Int { 256 }

    init(
        site: SubscriptionSite,
        publisher: EventPublisher,
        handler: Handler
    ) {
        self.publisher = publisher
        self.handler = handler
        super.init(site: site)
    }

    override func append(_ delivery: PendingDelivery<E>, key: AnyHashable?) -> AppendOutcome {
        guard handler != nil else { return .settled }
        waiting.append(delivery)
        room.fill(used: waiting.count)
        defer { isScheduled = true }
        return isScheduled ? [] : .wake
    }

    override func settle(_ outcome: AppendOutcome) {
        guard outcome.contains(.wake) else { return }
        // Detached: the handler belongs to its subscription, not to the task that happened to publish.
        let isolation = lock.withLock { handler }?.isolation
        Task.detached { await self.workOff(isolation: isolation) }
    }

    private func take() -> (delivery: PendingDelivery<E>, handler: Handler)? {
        let (call, senders): ((PendingDelivery<E>, Handler)?, [CheckedContinuation<Void, any Error>]) = lock.withLock {
            guard let handler, let next = waiting.takeFirst() else {
                isScheduled = false
                return (nil, [])
            }
            return ((next, handler), room.update(used: waiting.count, isOpen: false))
        }
        for sender in senders { sender.resume() }
        return call
    }

    /// Runs where the handler runs: were there a change of actor between entering the gate and the handler's first line, a
    /// subscription cancelled on that actor could still see its handler begin.
    private func workOff(isolation: isolated (any Actor)?) async {
        var burst = 0
        while let (delivery, handler) = take() {
            burst += 1
            if burst.isMultiple(of: Self.burst) { await Task.yield() }
            var failure: (any Error)?
            do {
                try await EventContext.$handledByTask.withValue(delivery.context) {
                    // A closure belongs to an isolated parameter only if it mentions it.
                    _ = isolation
                    switch handler {
                    case .closure(let handler):
                        guard gate.enter() else { return }
                        defer { gate.exit() }
                        try await handler(delivery.event)
                    case .entering(let handler):
                        try await handler(delivery.event, gate)
                    }
                }
            } catch {
                failure = error
            }
            delivery.finished(at: site, failure: failure, publisher: publisher)
        }
    }

    override func discardWaiting() {
        let (left, handler, senders) = lock.withLock {
            defer { self.handler = nil }
            return (waiting.takeAll(), self.handler, room.update(used: 0, isOpen: true))
        }
        withExtendedLifetime(handler) {}
        for sender in senders { sender.resume() }
        for delivery in left { delivery.tracker?.handlerReturned(at: site, failure: nil) }
    }
}
