import DomainEvents
import Synchronization

/// Has a journal record what a round trip brings, without the trip: an event that a worker has sent, one that is owed
/// to the worker, and the note that the worker has settled it.
///
/// One thread does all this, so it executes the same instructions on any machine.
final class PathRecords: Sendable {
    private let publisher: EventPublisher
    private let worker = EventSource(origin: "sender", incarnation: 1)
    private let owing = OwingForwarder()
    private let payload = [UInt8](repeating: 7, count: 32)

    /// - Parameter publisher: one whose events a journal records.
    init(of publisher: EventPublisher) {
        self.publisher = publisher
        publisher.setForwarding(of: PathReturned.eventName, by: owing, to: owing)
    }

    func pass(_ id: Int64) {
        let source = Unmanaged.passUnretained(worker)
        let context = BorrowedContext(source: source, number: UInt64(id) + 1, nanosecondsSinceEpoch: UInt64(id))
        let isRecorded = payload.withUnsafeBytes {
            publisher.channel(of: PathTravelled.self).runSubscribers()?.recordInRun($0, context)
        }
        guard isRecorded == true else { EventPath.end("event \(id) was not recorded", 70) }
        publisher.publish(PathReturned(id: id, title: PathTitle.of(id)))
        let number = owing.last.load(ordering: .relaxed)
        guard number > 0 else { EventPath.end("event \(id) was not recorded as owed", 70) }
        publisher.recording.note(
            .settled(source: publisher.source, ranges: [number...number], by: NotedReceiver(name: "sender"))
        )
        owing.last.store(0, ordering: .relaxed)
    }
}

/// Stands in the place of a bridge with one worker; its events are owed to the worker as soon as they are recorded.
private final class OwingForwarder: EventForwarder {
    /// The number of the last event; 0 if there is none.
    let last = Atomic<UInt64>(0)
    private let payload = [UInt8](repeating: 7, count: 32)
    private let owed = [OwedReceiver(name: "sender", isSpecified: true)]

    func forwardRecorded<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        makeRoom: (_ payloadBytes: Int) -> Void,
        record: (_ payload: UnsafeRawBufferPointer, _ owed: [OwedReceiver]) -> Void
    ) -> Forwarded? {
        makeRoom(payload.count)
        payload.withUnsafeBytes { record($0, owed) }
        last.store(context.number, ordering: .relaxed)
        return .taken
    }

    func forward<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout HeldEvents?
    ) -> Forwarded { .taken }

    var hasRoom: Bool { true }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {}

    var isWantedElsewhere: Bool { true }
}
