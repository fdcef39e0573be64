import CBOR
import Locks
import Synchronization

/// Records events of one type, before a subscriber can get them, on the thread that publishes or receives them.
///
/// A thread puts an event into all strands in one step, under their locks, and only then lets it leave for other
/// processes. The recorder takes the event in that step, so its record is older than every effect of the event. The
/// event is encoded before that step, without a lock; the keys for other subscribers are made then, too. An event of
/// another process is recorded in the bytes in which it came.
///
/// If the recorder is the only strand and makes events safe at once, it mostly records without the strand's lock. An
/// event that stays in this process is then recorded before its handlers are called, and an event for one peer while
/// that peer's outbox holds it.
final class RecordingSubscriber<E: DomainEvent>: DeferredSubscriber, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock` or atomic.
    private let name: String
    private let recorder: any EventRecording
    private let line: any RecordingLine
    private let encode: @Sendable (E, CBORBuffer) throws -> Void
    private weak let publisher: EventPublisher?
    /// Whether the recorder is the publisher's own, which also records the receivers that an event is owed to.
    private let keepsCustody: Atomic<Bool>
    private var failed: [Failure] = []
    private var isRemoved = false

    /// Why an event was not recorded; kept until this is reported to the event's publisher.
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
        line = recorder.line(named: name)
        if let payload = UntypedEvent.payload(ofEvents: E.self) {
            encode = { event, buffer in try buffer.append(payload(event)) }
        } else {
            encode = recorder.encoder(of: E.self)
        }
        self.publisher = publisher
        keepsCustody = Atomic(publisher.recording.isKept(by: recorder))
        super.init(E.self, site: site, source: publisher.source, isOpen: true)
    }

    override var isRecorder: Bool { keepsCustody.load(ordering: .relaxed) }

    override func keepCustody(by recorder: any EventRecording) -> Bool {
        recorder === self.recorder && !keepsCustody.exchange(true, ordering: .relaxed)
    }

    override var onlyRecords: Bool { true }

    override var laterRecorder: (any EventRecording)? { recorder.isSafeAtOnce ? nil : recorder }

    override var recordsAtOnce: Bool { recorder.isSafeAtOnce }

    override func recordAtOnce(_ payload: UnsafeRawBufferPointer, _ context: BorrowedContext) -> Bool {
        // The journal has a replayed event already, and the events of most dead letters.
        !context.isRecorded && line.recordAtOnce(payload, context: context, owed: [])
    }

    override func record(_ event: RawEvent, _ stamp: EventStamp) {
        let encoded = encodedWithRoom(event)
        let isRecorded =
            encoded.failure == nil && stamp.withBorrowed(of: source) { recordAtOnce(encoded.bytes, $0) }
        if isRecorded { return encoded.keep() }
        settle(lock.withLock { append(event, stamp, nil, .encoded(encoded)) })
    }

    override func makeRoom(for byteCount: Int) { line.makeRoom(for: byteCount) }

    override func record(
        _ payload: UnsafeRawBufferPointer,
        _ context: BorrowedContext,
        owed: [OwedReceiver]
    ) -> AppendOutcome {
        if context.isRecorded || line.recordAtOnce(payload, context: context, owed: owed) { return [] }
        let stamp: EventStamp = owed.isEmpty ? .full(context.context) : .owed(context.context, to: owed)
        return lock.withLock { append(payload, stamp, nil, failure: nil) }
    }

    override var needsPreparation: Bool { true }

    override func prepare(_ event: RawEvent) -> EventPreparation { .encoded(encodedWithRoom(event)) }

    /// Encodes the event, and waits for the room that its record needs.
    private func encodedWithRoom(_ event: RawEvent) -> EncodedEvent {
        let encoded = EncodedEvent.make(of: event) { try encode(event.copy(as: E.self), $0) }
        if encoded.failure == nil { line.makeRoom(for: encoded.bytes.count) }
        return encoded
    }

    override func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        _ preparation: EventPreparation
    ) -> AppendOutcome {
        guard case .encoded(let encoded) = preparation else { return .settled }
        defer { encoded.keep() }
        return append(encoded.bytes, stamp, tracker, failure: encoded.failure)
    }

    /// Called with `lock` held.
    ///
    /// - Parameter failure: why the event has no payload; nil if it has one.
    private func append(
        _ payload: UnsafeRawBufferPointer,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        failure: (any Error)?
    ) -> AppendOutcome {
        guard !isRemoved else { return .settled }
        do {
            if let failure { throw failure }
            let isSettled = try stamp.withBorrowed(of: source) { context in
                // As in `recordAtOnce`.
                if context.isRecorded { return true }
                return try line.record(
                    payload,
                    context: context,
                    owed: isRecorder ? stamp.owed : [],
                    whenSettled: tracker.map(report)
                )
            }
            return isSettled ? [.wake, .settled] : .wake
        } catch {
            failed.append(Failure(error: error, context: stamp.context(of: source), tracker: tracker))
            return [.wake, .unrecorded]
        }
    }

    /// Makes the closure that reports to a tracker that the event is recorded, or why it is not.
    private func report(to tracker: HandlingTracker) -> @Sendable ((any Error)?) -> Void {
        let site = site
        return { [weak publisher = self.publisher] error in
            let failure = error.map { ThrownError($0, at: site, of: publisher, lacksRecord: true) }
            tracker.handlerReturned(at: site, failure: failure)
        }
    }

    override func settle(_ outcome: AppendOutcome) {
        guard outcome.contains(.wake) else { return }
        recorder.wasRecorded()
        // Only a thread whose event is not recorded goes on, so that no recorded event waits for handlers of a report.
        guard outcome.contains(.unrecorded) else { return }
        let failed = lock.withLock {
            defer { self.failed = [] }
            return self.failed
        }
        for failure in failed {
            if let tracker = failure.tracker {
                let thrown = ThrownError(failure.error, at: site, of: publisher, lacksRecord: true)
                tracker.handlerReturned(at: site, failure: thrown)
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

extension EventPublisher {
    /// Records each event of a type, also of another process, before a subscriber gets it.
    ///
    /// The recorder is a subscriber: the publisher wants these events, and the recorder counts as one of their
    /// handlers.
    package func record<E: DomainEvent>(
        _ type: E.Type,
        by recorder: any EventRecording,
        at site: SubscriptionSite
    ) -> Subscription {
        let recording = channel(of: type).makeRecording(by: recorder, at: site, publisher: self)
        let (subscription, unused) = recording.begin()
        withExtendedLifetime(unused) {}
        recording.announce()
        return subscription
    }
}
