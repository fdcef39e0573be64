import Locks

/// What is left to do for a subscriber after its lock is released.
struct AppendOutcome: OptionSet {
    let rawValue: UInt8
    /// The subscriber has to be woken.
    static let wake = AppendOutcome(rawValue: 1)
    /// The event will not be handled, or no caller need wait for it: the event's tracker has to be notified.
    static let settled = AppendOutcome(rawValue: 2)
    /// An event that was waiting has lost its place and has to be released.
    static let evicted = AppendOutcome(rawValue: 4)
}

/// A handler that runs elsewhere: on a queue, in a task, or as the consumer of a sequence.
class DeferredSubscriber: AnySubscriber, @unchecked Sendable {
    // Sendable: subclasses guard their own state with `lock`.

    let eventType: any DomainEvent.Type
    /// The name of the subscriber's events if they are untyped; nil if their type has the name.
    private let untypedName: String?
    let eventBytes: Int
    /// The origin of the events of this subscriber's publisher.
    let source: EventSource
    let lock: Lock
    let lockMask: UInt32
    let room: Room

    init(
        _ eventType: any DomainEvent.Type,
        untypedName: String? = nil,
        site: SubscriptionSite,
        gate: CallGate = CallGate(),
        source: EventSource,
        lockNumber: Int = StrandLocks.assign(),
        roomLimit: Int = Room.strandLimit,
        isOpen: Bool = false
    ) {
        self.eventType = eventType
        self.untypedName = untypedName
        eventBytes = (eventType.rawSize + 15) / 16 * 16
        self.source = source
        lock = StrandLocks.lock(number: lockNumber)
        lockMask = 1 << UInt32(lockNumber)
        room = Room(lock: lock, limit: roomLimit, isOpen: isOpen)
        super.init(site: site, gate: gate)
    }

    var eventName: String { untypedName ?? eventType.eventName }

    /// Whether the subscriber is the publisher's own journal, which also records what is owed to whom.
    var isRecorder: Bool { false }

    /// The journal behind this subscriber, if it makes events safe only some time after it has recorded them.
    var laterRecorder: (any EventRecording)? { nil }

    /// Whether ``key(of:)`` returns keys.
    var hasKeys: Bool { false }

    /// The key by which a younger event replaces an older event; called without any lock held.
    func key(of event: RawEvent) -> AnyHashable? { nil }

    /// Takes a copy of the event.
    ///
    /// Called with `lock` held; never waits and calls no handler.
    func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        key: AnyHashable?
    ) -> AppendOutcome { [] }

    /// Reports that events of the subscriber's type were lost on their way here; only a sequence's buffer uses this.
    ///
    /// Called with `lock` held.
    func appendMissed(_ count: Int) -> AppendOutcome { [] }

    /// Does what `append` has left to do.
    ///
    /// Called without any lock held.
    func settle(_ outcome: AppendOutcome) {}

    /// Releases events that will not be handled.
    func drop(_ places: DeliveryBatch) {
        guard !places.isEmpty else { return }
        var left = places
        while let place = left.takeNext() { release(place) }
        giveBack(places)
    }

    /// Releases an event that will not be handled.
    func release(_ place: DeliveryPlace) {
        let tracker = place.pointee.tracker
        place.release()
        tracker?.handlerReturned(at: site, failure: nil)
    }

    /// The failure of an awaited event that comes when the subscriber has been removed; nil if it counts as handled.
    var failureOnceRemoved: ThrownError? { nil }

    /// Gives back memory whose content has been released.
    func giveBack(_ places: DeliveryBatch) {}
}

extension [DeferredSubscriber] {
    /// The event's key for each subscriber.
    func keys(of event: RawEvent) -> [AnyHashable?] { map { $0.key(of: event) } }

    /// Hands an event to all subscribers in one step, then wakes the subscribers that need it.
    ///
    /// - Parameters:
    ///   - keys: nil if no subscriber has keys.
    ///   - wasAppended: called when every subscriber has the event, before any is woken.
    func post(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        lockMask: UInt32,
        keys: [AnyHashable?]?,
        wasAppended: () -> Void = {}
    ) {
        if count == 1, keys == nil {
            let subscriber = self[0]
            subscriber.lock.lockSoon()
            let outcome = subscriber.append(event, stamp, tracker, key: nil)
            subscriber.lock.unlock()
            wasAppended()
            if !outcome.isEmpty { settle(outcome, of: subscriber, tracker) }
            return
        }
        withUnsafeTemporaryAllocation(of: AppendOutcome.self, capacity: count) { outcomes in
            StrandLocks.lockAll(lockMask)
            for index in indices { outcomes[index] = self[index].append(event, stamp, tracker, key: keys?[index]) }
            StrandLocks.unlockAll(lockMask)
            wasAppended()
            for index in indices where !outcomes[index].isEmpty { settle(outcomes[index], of: self[index], tracker) }
        }
    }

    private func settle(_ outcome: AppendOutcome, of subscriber: DeferredSubscriber, _ tracker: HandlingTracker?) {
        subscriber.settle(outcome)
        if outcome.contains(.settled) {
            tracker?.handlerReturned(at: subscriber.site, failure: subscriber.failureOnceRemoved)
        }
    }
}
