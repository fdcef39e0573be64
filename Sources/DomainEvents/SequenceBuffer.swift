import Locks

/// The events that wait for one consumer of a sequence.
final class SequenceBuffer<E: DomainEvent>: DeferredSubscriber<E>, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// What the consumer gets next.
    enum Step: Sendable {
        case delivery(Delivery<E>)
        case gap(EventGap)
        case end
    }

    private enum Entry: Sendable {
        case delivery(PendingDelivery<E>)
        case gap(Int)
    }

    private let name: String
    private let buffering: EventBuffering<E>
    private var entries = Fifo<Entry>()
    /// How many of the entries are events.
    private var waiting = 0
    /// Where the event of a key waits, by its number in `entries`.
    private var places: [AnyHashable: Int] = [:]
    private var keys: [Int: AnyHashable] = [:]
    /// What has lost its place and is let go of outside the lock.
    private var displaced: [PendingDelivery<E>] = []
    private var isIterated = false
    private var isFinished = false
    private var handling: HandlingTracker?
    private var consumer: CheckedContinuation<Step, Never>?
    /// What the consumer that was waiting gets as soon as the lock is given back.
    private var handedOver: (consumer: CheckedContinuation<Step, Never>, step: Step)?

    init(site: SubscriptionSite, name: String, buffering: EventBuffering<E>) {
        self.name = name
        self.buffering = buffering
        if case .waiting = buffering.policy {
            super.init(site: site, roomLimit: buffering.limit)
        } else {
            super.init(site: site, roomLimit: .max)
        }
        // Until somebody iterates there is nobody to wait for.
        lock.withLock { _ = room.update(used: 0, isOpen: true) }
    }

    /// From now on an event counts as handled only when the consumer has asked for the next, and `send` waits for it.
    func startIterating() {
        lock.withLock {
            isIterated = true
            _ = room.update(used: waiting, isOpen: false)
        }
    }

    // MARK: - In

    override var hasKeys: Bool {
        if case .latest = buffering.policy { true } else { false }
    }

    override func key(of event: E) -> AnyHashable? {
        if case .latest(let key) = buffering.policy { key(event) } else { nil }
    }

    override func append(_ delivery: PendingDelivery<E>, key: AnyHashable?) -> AppendOutcome {
        guard !isFinished else { return .settled }
        if let consumer {
            self.consumer = nil
            handling = delivery.tracker
            handedOver = (consumer, .delivery(Delivery(event: delivery.event, context: delivery.context)))
            return .wake
        }
        var outcome: AppendOutcome = []
        if let key, let number = places[key],
            case .delivery(let older)? = entries.replace(
                number: number,
                with: .delivery(kept(delivery, &outcome))
            )
        {
            displaced.append(older)
            return outcome.union(.displaced)
        }
        if waiting >= buffering.hardLimit {
            switch buffering.policy {
            case .waiting, .oldest:
                missNewest()
                return .settled
            case .newest, .latest:
                missOldest()
                outcome.insert(.displaced)
            }
        }
        if let key {
            places[key] = entries.endNumber
            keys[entries.endNumber] = key
        }
        entries.append(.delivery(kept(delivery, &outcome)))
        waiting += 1
        room.fill(used: waiting)
        return outcome
    }

    /// A sequence that nobody iterates makes nobody wait.
    private func kept(_ delivery: PendingDelivery<E>, _ outcome: inout AppendOutcome) -> PendingDelivery<E> {
        if isIterated { return delivery }
        outcome.insert(.settled)
        return PendingDelivery(event: delivery.event, context: delivery.context, tracker: nil)
    }

    private func missNewest() {
        if case .gap(let count)? = entries.last {
            entries.replaceLast(with: .gap(count + 1))
        } else {
            entries.append(.gap(1))
        }
    }

    /// The gap takes the place of the event, and grows if there is one already.
    private func missOldest() {
        var missed = 1
        while let entry = takeEntry() {
            switch entry {
            case .gap(let count): missed += count
            case .delivery(let delivery):
                displaced.append(delivery)
                entries.putBack(.gap(missed))
                return
            }
        }
    }

    private func takeEntry() -> Entry? {
        let number = entries.firstNumber
        guard let entry = entries.takeFirst() else { return nil }
        if case .delivery = entry {
            waiting -= 1
            if let key = keys.removeValue(forKey: number) { places[key] = nil }
        }
        return entry
    }

    override func settle(_ outcome: AppendOutcome) {
        guard !outcome.isDisjoint(with: [.wake, .displaced]) else { return }
        let (handedOver, displaced) = lock.withLock {
            defer {
                self.handedOver = nil
                self.displaced = []
            }
            return (self.handedOver, self.displaced)
        }
        if let handedOver { handedOver.consumer.resume(returning: handedOver.step) }
        for delivery in displaced { delivery.tracker?.handlerReturned(at: site, failure: nil) }
    }

    // MARK: - Out

    func next() async -> Step {
        finishHandling()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (ready, senders): (Step?, [CheckedContinuation<Void, any Error>]) = lock.withLock {
                    switch takeEntry() {
                    case .delivery(let delivery):
                        handling = delivery.tracker
                        let step = Step.delivery(Delivery(event: delivery.event, context: delivery.context))
                        return (step, room.update(used: waiting, isOpen: false))
                    case .gap(let count):
                        return (.gap(EventGap(event: name, count: count, limit: buffering.hardLimit)), [])
                    case nil:
                        if isFinished || Task.isCancelled { return (.end, []) }
                        precondition(consumer == nil, "two tasks wait for the next event of one iterator")
                        consumer = continuation
                        return (nil, [])
                    }
                }
                for sender in senders { sender.resume() }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            finish()
        }
    }

    override func discardWaiting() {
        finish()
    }

    private func finishHandling() {
        let done = lock.withLock {
            defer { handling = nil }
            return handling
        }
        done?.handlerReturned(at: site, failure: nil)
    }

    /// Ends the sequence: whoever waits in `next()` gets its end, and nobody is kept waiting for what is left.
    private func finish() {
        let (left, consumer, senders) = lock.withLock {
            isFinished = true
            waiting = 0
            places = [:]
            keys = [:]
            defer { self.consumer = nil }
            return (entries.takeAll(), self.consumer, room.update(used: 0, isOpen: true))
        }
        for sender in senders { sender.resume() }
        finishHandling()
        for case .delivery(let delivery) in left { delivery.tracker?.handlerReturned(at: site, failure: nil) }
        consumer?.resume(returning: .end)
    }

    /// What waits is still to be had; then the sequence ends.
    override func publisherWasReleased() {
        let consumer = lock.withLock {
            isFinished = true
            defer { self.consumer = nil }
            return self.consumer
        }
        consumer?.resume(returning: .end)
    }
}
