import Locks

/// The events that wait for one consumer of a sequence.
final class SequenceBuffer: DeferredSubscriber, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, or belongs to the single consumer.

    enum Step: Sendable {
        /// The consumer moves the event out of its memory before it does anything else.
        case event(RawEvent)
        case gap(EventGap)
        case end
    }

    private enum Policy {
        case waiting, newest, oldest
        case latest(key: @Sendable (RawEvent) -> AnyHashable)
    }

    private let name: String
    private let policy: Policy
    private let hardLimit: Int
    private let arrivals = ArrivalFlag()

    // Guarded by `lock`.
    private var backlog: Backlog
    /// The place where the event of a key waits.
    private var places: [AnyHashable: DeliveryPlace] = [:]
    private var keys: [DeliveryPlace: AnyHashable] = [:]
    /// Events that have lost their place, to be released without the lock.
    private var evicted: [DeliveryPlace] = []
    private var isIterated = false
    private var isFinished = false
    private var handling: HandlingTracker?
    /// The sleeping consumer; while it sleeps, its own properties below belong to the thread that has the lock.
    private var consumer: CheckedContinuation<Void, Never>?
    /// The consumer that was sleeping, to be woken as soon as the lock is released.
    private var woken: CheckedContinuation<Void, Never>?

    // The consumer's own properties.
    /// Events that the consumer has taken out, and handles without the lock.
    private var batch = DeliveryBatch()
    private var left = DeliveryBatch()
    /// Whether the event in hand does not count in the room: it was handed to a sleeping consumer, or has left already.
    private var isUncounted = false
    /// The place of the event that the consumer has got.
    private var current: DeliveryPlace?
    /// Whether a tracker waits until the consumer is done with `current`.
    private var isWaitedFor = false
    /// How many events the consumer has taken since it slept.
    private var taken = 0

    /// How many events are taken out of the backlog at once.
    private static let batchLimit = 32

    init<E: DomainEvent>(site: SubscriptionSite, name: String, source: EventSource, buffering: EventBuffering<E>) {
        self.name = name
        hardLimit = buffering.hardLimit
        var roomLimit = Int.max
        switch buffering.policy {
        case .waiting:
            policy = .waiting
            roomLimit = buffering.limit
        case .newest: policy = .newest
        case .oldest: policy = .oldest
        case .latest(let key): policy = .latest { event in key(event.copy(as: E.self)) }
        }
        backlog = Backlog(arrivals)
        // Until a consumer iterates, senders have nothing to wait for.
        super.init(E.self, site: site, source: source, roomLimit: roomLimit, isOpen: true)
    }

    deinit {
        letGoOfHand()
    }

    /// Begins the iteration: from now on, an event counts as handled only when the consumer asks for the next event,
    /// and `send` waits for the consumer if the policy is `waiting`.
    func startIterating() {
        lock.withLock {
            isIterated = true
            room.close()
        }
    }

    // MARK: - In

    override var needsPreparation: Bool {
        if case .latest = policy { true } else { false }
    }

    override func prepare(_ event: RawEvent) -> EventPreparation {
        if case .latest(let key) = policy { .key(key(event)) } else { .nothing }
    }

    override func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        _ preparation: EventPreparation
    ) -> AppendOutcome {
        guard !isFinished else { return .settled }
        if let consumer {
            self.consumer = nil
            woken = consumer
            handling = tracker
            isWaitedFor = tracker != nil
            backlog.append(event, stamp, nil, for: self)
            batch = backlog.take(atMost: 1)
            left = batch
            isUncounted = true
            return .wake
        }
        // No caller waits for a sequence that is not iterated.
        var outcome: AppendOutcome = isIterated ? [] : .settled
        let tracker = isIterated ? tracker : nil
        if case .key(let key) = preparation, let older = places[key] {
            let place = backlog.replace(older, event, stamp, tracker, for: self)
            places[key] = place
            keys[older] = nil
            keys[place] = key
            evicted.append(older)
            return outcome.union(.evicted)
        }
        if room.holds(hardLimit) {
            switch policy {
            case .waiting, .oldest:
                backlog.appendMissed()
                return .settled
            case .newest, .latest:
                missOldest()
                outcome.insert(.evicted)
            }
        }
        let place = backlog.append(event, stamp, tracker, for: self)
        if case .key(let key) = preparation {
            places[key] = place
            keys[place] = key
        }
        room.enter()
        return outcome
    }

    override func appendMissed(_ count: Int) -> AppendOutcome {
        guard !isFinished else { return [] }
        let missed = UInt64(clamping: count)
        backlog.appendMissed(missed, droppedOnTheWay: missed)
        guard let consumer else { return [] }
        self.consumer = nil
        woken = consumer
        return .wake
    }

    /// Puts a gap in the place of the oldest event, or adds the event to the gap before it.
    private func missOldest() {
        guard let oldest = backlog.missOldest() else { return }
        forgetKey(of: oldest)
        room.leaveUnnoticed()
        evicted.append(oldest)
    }

    private func forgetKey(of place: DeliveryPlace) {
        if !keys.isEmpty, let key = keys.removeValue(forKey: place) { places[key] = nil }
    }

    override func settle(_ outcome: AppendOutcome) {
        guard !outcome.isDisjoint(with: [.wake, .evicted]) else { return }
        let (woken, evicted) = lock.withLock {
            defer {
                self.woken = nil
                self.evicted = []
            }
            return (self.woken, self.evicted)
        }
        woken?.resume()
        guard !evicted.isEmpty else { return }
        for place in evicted { release(place) }
        lock.withLock { for place in evicted { backlog.giveBack(place) } }
    }

    // MARK: - Out

    /// Returns what the consumer gets next; waits until there is something.
    func next() async -> Step {
        while true {
            if let step = step() { return step }
            await sleep()
        }
    }

    /// Returns what the consumer gets next; nil if there is nothing yet.
    func step() -> Step? {
        finishHandling()
        if Task.isCancelled {
            finish()
            letGoOfHand()
            return .end
        }
        if left.isEmpty, let end = takeHand() { return end }
        guard let place = left.takeNext() else { return nil }
        taken += 1
        if place.isGap {
            let gap = EventGap(
                event: name,
                count: Int(clamping: place.pointee.number),
                droppedOnTheWay: Int(clamping: place.pointee.nanosecondsSinceEpoch),
                limit: hardLimit
            )
            return .gap(gap)
        }
        if !isUncounted { room.leave() }
        isUncounted = false
        current = place
        return .event(place.event)
    }

    /// The context of the event that the consumer has just got.
    var context: EventContext {
        guard let current else { preconditionFailure("the consumer has no event in hand") }
        return current.context
    }

    /// Takes the next events out of the backlog; returns the end if nothing more will come.
    ///
    /// Not private, so that a test can let an event come between this and the rest of ``step()``.
    func takeHand() -> Step? {
        lock.lockSoon()
        backlog.giveBack(batch)
        switch policy {
        case .waiting, .oldest: batch = backlog.take(atMost: Self.batchLimit)
        case .newest, .latest:
            // An event that has been taken cannot give way to younger events any more.
            batch = backlog.take(atMost: 1)
            // So it leaves the room while the lock is held: if it left later, an event that comes in between would make
            // a waiting event give way, although there is room. No sender waits for this room.
            if let place = batch.first, !place.isGap {
                room.leaveUnnoticed()
                isUncounted = true
            }
        }
        left = batch
        if let place = left.first, place.isSingle {
            handling = place.pointee.tracker
            isWaitedFor = handling != nil
            place.pointee.tracker = nil
        }
        if let place = left.first { forgetKey(of: place) }
        let isEnd = batch.isEmpty && isFinished
        lock.unlock()
        return isEnd ? .end : nil
    }

    private func sleep() async {
        // A burst is under way, so the next event probably comes soon.
        if taken > 1, arrivals.comeSoon() { return }
        taken = 0
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = lock.withLock {
                    if isFinished || !backlog.isEmpty { return true }
                    precondition(consumer == nil, "two tasks wait for the next event of one iterator")
                    consumer = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            Simulation.undivided { finish() }
        }
        // The publishing thread wrote the consumer's properties under the lock; this makes them visible to this thread.
        lock.withLock {}
    }

    override func discardWaiting() {
        finish()
    }

    /// Called when the consumer is done with the event that it has got.
    private func finishHandling() {
        guard let place = current else { return }
        current = nil
        // The consumer has moved the event itself out of this place.
        place.releaseHead()
        guard isWaitedFor else { return }
        isWaitedFor = false
        finishWaitedFor()
    }

    private func finishWaitedFor() {
        let done = lock.withLock {
            defer { handling = nil }
            return handling
        }
        done?.handlerReturned(at: site, failure: nil)
    }

    private func letGoOfHand() {
        finishHandling()
        while let place = left.takeNext() { place.release() }
        lock.withLock { backlog.giveBack(batch) }
        batch = DeliveryBatch()
    }

    /// Ends the sequence; a consumer that waits in `next()` gets the end, and no caller waits for the remaining events.
    private func finish() {
        let (left, consumer, senders) = lock.withLock {
            isFinished = true
            places = [:]
            keys = [:]
            defer { self.consumer = nil }
            return (backlog.takeAll(), self.consumer, room.open())
        }
        for sender in senders { sender.resume() }
        finishWaitedFor()
        drop(left)
        consumer?.resume()
    }

    override func giveBack(_ places: DeliveryBatch) {
        lock.withLock { backlog.giveBack(places) }
    }

    /// The consumer still gets the waiting events; then the sequence ends.
    override func publisherWasReleased() {
        let consumer = lock.withLock {
            isFinished = true
            defer { self.consumer = nil }
            return self.consumer
        }
        consumer?.resume()
    }
}
