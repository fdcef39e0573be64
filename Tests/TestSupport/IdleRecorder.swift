package import CBOR
package import DomainEvents

/// A journal for a test, which implements only the members that the test looks at; the default implementations accept
/// everything and keep nothing.
///
/// An event that takes the general way comes to `recordAtOnce`, too.
package protocol IdleRecorder: EventRecording, RecordingLine {}

extension IdleRecorder {
    package func encoder<E: DomainEvent>(of type: E.Type) -> @Sendable (E, CBORBuffer) throws -> Void { { _, _ in } }

    package func line(named name: String) -> any RecordingLine { self }

    package func makeRoom(for byteCount: Int) {}

    package func record(
        _ payload: UnsafeRawBufferPointer,
        context: BorrowedContext,
        owed: [OwedReceiver],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws -> Bool { recordAtOnce(payload, context: context, owed: owed) }

    package func recordAtOnce(_ payload: UnsafeRawBufferPointer, context: BorrowedContext, owed: [OwedReceiver]) -> Bool
    { true }

    package func wasRecorded() {}

    package var isSafeAtOnce: Bool { true }

    package func whenSafe(_ body: @escaping @Sendable ((any Error)?) -> Void) { body(nil) }

    package func note(_ note: CustodyNote) {}

    package func takeOwed() -> [OwedEvent] { [] }

    package func lastBookmark(of worker: String) -> KeptBookmark { .notKept }

    package var outboxDirectory: String? { nil }

    package func lastRecorded(of events: [EventContext], after position: UInt64) throws -> RecordIdentity? { nil }

    package var isOver: Bool { false }

    package var report: RecordingReport {
        RecordingReport(
            firstPosition: 1,
            lastPosition: 0,
            safePosition: 0,
            unsafeNanoseconds: nil,
            segments: 1,
            bytes: 0,
            failure: nil
        )
    }
}
