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
    /// The event is not recorded: ``DeferredSubscriber/settle(_:)`` reports why, which may call handlers.
    static let unrecorded = AppendOutcome(rawValue: 8)
    /// The event may be the answer that a request waits for: see ``DeferredSubscriber/takeAnswers(recordedBy:)``.
    static let answers = AppendOutcome(rawValue: 16)
}

/// A subscriber that gets events ahead of the inline handlers: a handler on a queue or in a task, the consumer of a
/// sequence, a journal, or a request that waits for its answer.
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

    /// Whether the subscriber is the publisher's own journal, which also records which receivers an event is owed to.
    var isRecorder: Bool { false }

    /// Makes this subscriber one of the publisher's own journal, if it belongs to this recorder.
    ///
    /// - Returns: Whether it belongs to the recorder and was not such a subscriber before.
    func keepCustody(by recorder: any EventRecording) -> Bool { false }

    /// Whether the subscriber is a journal, the publisher's own or another one, and handles no event.
    var onlyRecords: Bool { false }

    /// The journal behind this subscriber, if it makes events safe only some time after it has recorded them.
    var laterRecorder: (any EventRecording)? { nil }

    /// Whether ``recordAtOnce(_:_:)`` and the `record` methods may be called in place of ``append(_:_:_:_:)``.
    var recordsAtOnce: Bool { false }

    /// Records an event of another process, if recording needs no wait and makes the event safe at once.
    ///
    /// Called without any lock held, before the event's handlers.
    /// - Parameter payload: the bytes in which the event came.
    /// - Returns: Whether the event is recorded; if not, the caller appends it as for any subscriber.
    func recordAtOnce(_ payload: UnsafeRawBufferPointer, _ context: BorrowedContext) -> Bool { false }

    /// Records an event of this process that goes to no other process, or reports why the journal cannot.
    ///
    /// The calling thread waits for room in the journal if need be.
    ///
    /// Called without any lock held, before the event's handlers.
    func record(_ event: RawEvent, _ stamp: EventStamp) {}

    /// Waits until there is room to record a payload of this length.
    ///
    /// Called without any lock, before an outbox holds the event.
    func makeRoom(for byteCount: Int) {}

    /// Records the payload of an event that an outbox holds until this returns; only called if ``isRecorder`` is true.
    ///
    /// - Returns: What the caller hands to ``settle(_:)`` once the event has left; `settle` may call handlers.
    func record(
        _ payload: UnsafeRawBufferPointer,
        _ context: BorrowedContext,
        owed: [OwedReceiver]
    ) -> AppendOutcome { [] }

    /// Whether ``prepare(_:)`` returns anything.
    var needsPreparation: Bool { false }

    /// Makes what ``append(_:_:_:_:)`` needs besides the event; called without any lock held.
    func prepare(_ event: RawEvent) -> EventPreparation { .nothing }

    /// Takes a copy of the event.
    ///
    /// Called with `lock` held; calls no handler, and waits for nothing but a journal's file system.
    func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        _ preparation: EventPreparation
    ) -> AppendOutcome { [] }

    /// Notes that events of the subscriber's type were dropped on their way to this process; only sequences use this.
    ///
    /// Called with `lock` held.
    func appendMissed(_ count: Int) -> AppendOutcome { [] }

    /// Does what `append` has left to do.
    ///
    /// Called without any lock held.
    func settle(_ outcome: AppendOutcome) {}

    /// Does what `append` has left to do for a request that waits for its answer.
    ///
    /// Called without any lock held.
    /// - Parameter recorders: the journals among the subscribers that got the event in the same step.
    func takeAnswers(recordedBy recorders: LaterRecorders) {}

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

    /// The failure of an awaited event that comes after the subscriber was removed; nil if the event counts as handled.
    var failureOnceRemoved: ThrownError? { nil }

    /// Gives back memory whose content has been released.
    func giveBack(_ places: DeliveryBatch) {}
}

extension [DeferredSubscriber] {
    /// Makes what each subscriber needs of the event.
    func prepare(_ event: RawEvent) -> EventPreparations {
        count == 1 ? .only(self[0].prepare(event)) : .each(map { $0.prepare(event) })
    }

    /// Hands an event to all subscribers in one step, then wakes the subscribers that have to be woken, and only then
    /// lets journals report that they have not recorded the event.
    ///
    /// - Parameters:
    ///   - wasAppended: called when every subscriber has the event, before any is woken, with all that is left to do.
    func post(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        lockMask: UInt32,
        _ preparations: EventPreparations,
        wasAppended: (AppendOutcome) -> Void = { _ in }
    ) {
        if count == 1 {
            let subscriber = self[0]
            let preparation = preparations[0]
            subscriber.lock.lockSoon()
            let outcome = subscriber.append(event, stamp, tracker, preparation)
            subscriber.lock.unlock()
            wasAppended(outcome)
            if !outcome.isEmpty { settle(outcome, of: subscriber, tracker) }
            return
        }
        withUnsafeTemporaryAllocation(of: AppendOutcome.self, capacity: count) { outcomes in
            var all: AppendOutcome = []
            StrandLocks.lockAll(lockMask)
            for index in indices {
                outcomes[index] = self[index].append(event, stamp, tracker, preparations[index])
                all.formUnion(outcomes[index])
            }
            StrandLocks.unlockAll(lockMask)
            wasAppended(all)
            for index in indices where !outcomes[index].isEmpty && !outcomes[index].contains(.unrecorded) {
                settle(outcomes[index], of: self[index], tracker)
            }
            guard all.contains(.unrecorded) else { return }
            for index in indices where outcomes[index].contains(.unrecorded) {
                settle(outcomes[index], of: self[index], tracker)
            }
        }
    }

    private func settle(_ outcome: AppendOutcome, of subscriber: DeferredSubscriber, _ tracker: HandlingTracker?) {
        if outcome.contains(.answers) {
            subscriber.takeAnswers(recordedBy: LaterRecorders(among: self))
        } else {
            subscriber.settle(outcome)
        }
        if outcome.contains(.settled) {
            tracker?.handlerReturned(at: subscriber.site, failure: subscriber.failureOnceRemoved)
        }
    }
}
