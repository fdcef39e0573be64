import Locks

/// Has events of one type recorded before a subscriber can get them, on the thread that publishes or receives them.
///
/// A thread puts an event into all strands in one step, under their locks, and only then lets it leave for other
/// processes. The recorder takes the event in that step, so its record is older than every effect of the event. The
/// event is encoded before that step, without a lock, where other subscribers make their keys.
final class RecordingSubscriber<E: DomainEvent>: DeferredSubscriber, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let name: String
    private let recorder: any EventRecording
    private let encode: @Sendable (E) throws -> [UInt8]
    private weak let publisher: EventPublisher?
    /// Whether the recorder is the publisher's own, which is told what becomes of the events.
    private let keepsCustody: Bool
    private var failed: [Failure] = []
    private var isRemoved = false

    /// Why an event was not recorded, until this is reported to the event's publisher.
    private struct Failure {
        let error: any Error
        let context: EventContext
        let tracker: HandlingTracker?
    }

    init(
        name: String,
        site: SubscriptionSite,
        publisher: EventPublisher,
        recorder: any EventRecording
    ) {
        self.name = name
        self.recorder = recorder
        encode = UntypedEvent.payload(ofEvents: E.self) ?? recorder.encoder(of: E.self)
        self.publisher = publisher
        keepsCustody = publisher.recording.isKept(by: recorder)
        super.init(E.self, site: site, source: publisher.source, isOpen: true)
    }

    override var isRecorder: Bool { keepsCustody }

    override var laterRecorder: (any EventRecording)? { recorder.isSafeAtOnce ? nil : recorder }

    override var hasKeys: Bool { true }

    override func key(of event: RawEvent) -> AnyHashable? {
        let payload = Result { try encode(event.copy(as: E.self)) }
        if case .success(let bytes) = payload { recorder.makeRoom(for: bytes) }
        return AnyHashable(EncodedEvent(payload))
    }

    override func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        key: AnyHashable?
    ) -> AppendOutcome {
        guard !isRemoved, let encoded = key?.base as? EncodedEvent else { return .settled }
        let context = stamp.context(of: source)
        // It lies in the journal that it is replayed from.
        if context.isReplay { return .settled }
        do {
            let isSettled = try recorder.record(
                try encoded.payload.get(),
                name: name,
                context: context,
                owed: keepsCustody ? stamp.owed : [],
                whenSettled: tracker.map(report)
            )
            return isSettled ? [.wake, .settled] : .wake
        } catch {
            failed.append(Failure(error: error, context: context, tracker: tracker))
            return .wake
        }
    }

    /// Makes the closure that reports to a tracker that the event is recorded, or why it is not.
    private func report(to tracker: HandlingTracker) -> @Sendable ((any Error)?) -> Void {
        let site = site
        return { error in tracker.handlerReturned(at: site, failure: error.map { ThrownError($0, at: site) }) }
    }

    override func settle(_ outcome: AppendOutcome) {
        guard outcome.contains(.wake) else { return }
        recorder.wasRecorded()
        let failed = lock.withLock {
            defer { self.failed = [] }
            return self.failed
        }
        for failure in failed {
            if let tracker = failure.tracker {
                tracker.handlerReturned(at: site, failure: ThrownError(failure.error, at: site))
            } else {
                publisher?.publishFailure(
                    of: E.self,
                    named: name,
                    context: failure.context,
                    error: failure.error,
                    site: site
                )
            }
        }
    }

    override func discardWaiting() {
        lock.withLock { isRemoved = true }
    }
}

/// An encoded event on its way to its recorder; as a key it equals no other event's key.
private final class EncodedEvent: Hashable, Sendable {
    let payload: Result<[UInt8], any Error>

    init(_ payload: Result<[UInt8], any Error>) {
        self.payload = payload
    }

    static func == (left: EncodedEvent, right: EncodedEvent) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Keeps events where they outlive the process.
package protocol EventRecording: AnyObject, Sendable {
    /// Returns the closure that encodes events of a type; the closure is called without any lock held.
    ///
    /// It is not asked for untyped events, whose payload is recorded as it is.
    func encoder<E: DomainEvent>(of type: E.Type) -> @Sendable (E) throws -> [UInt8]

    /// Called without any lock before an event with this payload is recorded; waits for the room that the record needs.
    func makeRoom(for payload: [UInt8])

    /// Takes an event into the record.
    ///
    /// Called under the locks of strands, so it calls no other code. It waits for nothing but the file system, and only
    /// if other threads have taken the room that ``makeRoom(for:)`` waited for.
    /// - Parameters:
    ///   - owed: the receivers that the event is owed to, until a note says that they have settled it.
    ///   - whenSettled: called once, on another thread, when the event is safe or cannot become so; nil if nothing
    ///     waits for the event.
    /// - Returns: Whether the event is safe already; then `whenSettled` is not called.
    /// - Throws: Why the event is not recorded; its publisher learns of it as if a handler had thrown.
    func record(
        _ payload: [UInt8],
        name: String,
        context: EventContext,
        owed: [OwedReceiver],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws -> Bool

    /// Called without any lock, after an event was recorded.
    func wasRecorded()

    /// Whether an event is as safe as it becomes when it is recorded.
    var isSafeAtOnce: Bool { get }

    /// Calls `body` when all events that were recorded so far are safe or cannot become so: at once, or later on
    /// another thread.
    ///
    /// Called without any lock.
    func whenSafe(_ body: @escaping @Sendable ((any Error)?) -> Void)

    /// Notes what became of recorded events; waits for nothing but the file system, and calls no other code.
    ///
    /// A note may be lost: its events may then come again.
    func note(_ notes: [CustodyNote])

    /// Hands over what earlier hosts had not seen settled, in the order of the records; each event once.
    ///
    /// The caller notes ``CustodyNote/hostStarted(incarnation:)`` when all of it lies in its outboxes.
    func takeOwed() -> [OwedEvent]

    /// A worker's last bookmark whose event is as safe as this recorder promises; the calling thread waits for that.
    func lastBookmark(of worker: String) -> KeptBookmark

    /// The present positions and sizes.
    var report: RecordingReport { get }
}

extension EventPublisher {
    /// Records each event of a type, also from another process, before a subscriber gets it.
    ///
    /// The recorder is a subscriber: the publisher wants these events, and the recorder counts as one of their
    /// handlers.
    package func record<E: DomainEvent>(
        _ type: E.Type,
        by recorder: any EventRecording,
        at site: SubscriptionSite
    ) -> Subscription {
        channel(of: type).record(by: recorder, at: site, publisher: self)
    }
}
