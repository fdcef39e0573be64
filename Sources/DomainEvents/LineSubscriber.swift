import Locks

/// A synchronous handler on a queue: in order with everything else that its publisher delivers there.
final class LineSubscriber<E: DomainEvent>: DeferredSubscriber<E>, LineMember, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let line: DeliveryLine
    private var waiting = Fifo<PendingDelivery<E>>()
    /// Let go of when the subscription ends, even if the queue never comes to what waits.
    private var handler: (@Sendable (E) throws -> Void)?
    private weak let publisher: EventPublisher?

    init(
        site: SubscriptionSite,
        line: DeliveryLine,
        publisher: EventPublisher,
        handler: @escaping @Sendable (E) throws -> Void
    ) {
        self.line = line
        self.publisher = publisher
        self.handler = handler
        super.init(site: site, lockNumber: line.lockNumber)
    }

    override func append(_ delivery: PendingDelivery<E>, key: AnyHashable?) -> AppendOutcome {
        guard handler != nil else { return .settled }
        waiting.append(delivery)
        room.fill(used: waiting.count)
        return line.append(self) ? .wake : []
    }

    override func settle(_ outcome: AppendOutcome) {
        if outcome.contains(.wake) { line.schedule() }
    }

    func callNext(unlocking lock: Lock) {
        let next = waiting.takeFirst()
        let handler = self.handler
        let sender = room.update(used: waiting.count, isOpen: handler == nil)
        lock.unlock()
        for sender in sender { sender.resume() }
        guard let next, let handler else { return }
        var failure: (any Error)?
        DeliveryThread.current.run(context: next.context) {
            guard gate.enter() else { return }
            do { try handler(next.event) } catch { failure = error }
            gate.exit()
        }
        next.finished(at: site, failure: failure, publisher: publisher)
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

extension PendingDelivery {
    /// Reports the end of the handler's call to whoever waits for it; what it threw, else to everybody.
    func finished(at site: SubscriptionSite, failure: (any Error)?, publisher: EventPublisher?) {
        if let tracker {
            tracker.handlerReturned(at: site, failure: failure)
        } else if let failure {
            publisher?.publishFailure(of: E.self, context: context, error: failure, site: site)
        }
    }
}
