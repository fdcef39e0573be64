import Dispatch
import Locks

/// A first-in, first-out line of deliveries with one handler at its end.
///
/// The line schedules itself when it goes from idle to busy, and the handler then works until the line is empty: one block on
/// the queue, or one task, for a whole burst.
class Mailbox<E: DomainEvent>: DeferredSubscriber<E>, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var waiting = DeliveryLine<E>()
    private var isScheduled = false

    /// The queue or actor is given back after so many events, so that others get their turn.
    final class var burst: Int { 256 }

    /// Arranges that the line is worked off, elsewhere.
    func schedule() {}

    override func receive(_ event: E, context: EventContext, tracker: IncomingTracker?) {
        let wasIdle = lock.withLock {
            waiting.append(Delivery(event: event, context: context, tracker: tracker))
            defer { isScheduled = true }
            return !isScheduled
        }
        if wasIdle { schedule() }
    }

    /// The next delivery; nil when the line is empty, after which the next event schedules it anew.
    final func take() -> Delivery<E>? {
        lock.withLock {
            let first = waiting.takeFirst()
            if first == nil { isScheduled = false }
            return first
        }
    }

    override func discardWaiting() {
        for delivery in lock.withLock({ waiting.takeAll() }) { delivery.tracker?.handlerReturned(failure: nil) }
    }

    /// Reports what a handler threw to whoever waits for it, or to everybody.
    final func report(_ error: (any Error)?, of delivery: Delivery<E>, publisher: EventPublisher?) {
        if let tracker = delivery.tracker {
            tracker.handlerReturned(failure: error)
        } else if let error {
            publisher?.publishFailure(of: E.self, context: delivery.context, error: error)
        }
    }
}

/// A handler on a dispatch queue: in order, one at a time, also on a concurrent queue.
final class QueueMailbox<E: DomainEvent>: Mailbox<E>, @unchecked Sendable {
    // Sendable: adds constants only.
    private let queue: DispatchQueue
    private let handler: @Sendable (E) throws -> Void
    private weak let publisher: EventPublisher?

    init(queue: DispatchQueue, publisher: EventPublisher, handler: @escaping @Sendable (E) throws -> Void) {
        self.queue = queue
        self.handler = handler
        self.publisher = publisher
    }

    override func schedule() {
        queue.async { self.workOff() }
    }

    private func workOff() {
        for _ in 0..<Self.burst {
            guard let delivery = take() else { return }
            guard gate.enter() else {
                report(nil, of: delivery, publisher: nil)
                continue
            }
            var failure: (any Error)?
            do {
                try DeliveryThread.current.run(context: delivery.context) { try handler(delivery.event) }
            } catch {
                failure = error
            }
            gate.exit()
            report(failure, of: delivery, publisher: publisher)
        }
        schedule()
    }
}

/// An asynchronous handler: each call begins when the one before has returned.
final class TaskMailbox<E: DomainEvent>: Mailbox<E>, @unchecked Sendable {
    // Sendable: adds constants only.
    private let handler: @isolated(any) @Sendable (E) async throws -> Void
    private weak let publisher: EventPublisher?

    init(publisher: EventPublisher, handler: @escaping @isolated(any) @Sendable (E) async throws -> Void) {
        self.handler = handler
        self.publisher = publisher
    }

    override func schedule() {
        // Detached: the handler belongs to its subscription, not to the task that happened to publish.
        Task.detached { await self.workOff(isolation: self.handler.isolation) }
    }

    /// Runs where the handler runs: were there a change of actor between entering the gate and the handler's first line, a
    /// subscription cancelled on that actor could still see its handler begin.
    private func workOff(isolation: isolated (any Actor)?) async {
        var burst = 0
        while let delivery = take() {
            burst += 1
            if burst.isMultiple(of: Self.burst) { await Task.yield() }
            guard gate.enter() else {
                report(nil, of: delivery, publisher: nil)
                continue
            }
            var failure: (any Error)?
            do {
                try await EventContext.$handledByTask.withValue(delivery.context) {
                    // A closure belongs to an isolated parameter only if it mentions it.
                    _ = isolation
                    try await handler(delivery.event)
                }
            } catch {
                failure = error
            }
            gate.exit()
            report(failure, of: delivery, publisher: publisher)
        }
    }
}
