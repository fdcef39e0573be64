package import CBOR

/// Keeps events where they outlive the process.
package protocol EventRecording: AnyObject, Sendable {
    /// Returns the closure that encodes events of a type; the closure is called without any lock held.
    ///
    /// This is not called for untyped events, whose payload is recorded as it is.
    func encoder<E: DomainEvent>(of type: E.Type) -> @Sendable (E, CBORBuffer) throws -> Void

    /// Makes the object that records the events of this name.
    func line(named name: String) -> any RecordingLine

    /// Called without any lock, when ``RecordingLine/record(_:context:owed:whenSettled:)`` may have recorded an event.
    func wasRecorded()

    /// Whether each recorded event is at once as safe as this recorder promises.
    var isSafeAtOnce: Bool { get }

    /// Calls `body`, at once or on another thread, when all events that were recorded so far are safe or cannot become
    /// safe.
    ///
    /// Called without any lock.
    func whenSafe(_ body: @escaping @Sendable ((any Error)?) -> Void)

    /// Notes what became of recorded events; waits for nothing but the file system, and calls no other code.
    ///
    /// A note may be lost: its events may then come again.
    func note(_ note: CustodyNote)

    /// Hands over, once only, the events that earlier hosts had not seen settled, in the order of the records.
    ///
    /// The caller notes ``CustodyNote/hostStarted(incarnation:)`` when all of them lie in its outboxes.
    func takeOwed() -> [OwedEvent]

    /// A worker's last bookmark; the calling thread waits until its event is as safe as this recorder promises.
    func lastBookmark(of worker: String) -> KeptBookmark

    /// The directory, beside the records, in which a host may keep its workers' outboxes; nil for none.
    ///
    /// The directory need not exist. Nothing but hosts uses it.
    var outboxDirectory: String? { get }

    /// The newest of these events that has a record, given in the order in which a host received them; nil for none.
    ///
    /// The calling thread waits for the files.
    /// - Parameters:
    ///   - events: events whose records can be told from all others; no two have the same ``RecordIdentity``.
    ///   - position: no record of these events lies at or before this position.
    func lastRecorded(of events: [EventContext], after position: UInt64) throws -> RecordIdentity?

    /// Whether no host may count on the recorder any more, because it is being closed or has failed for good.
    ///
    /// A recorder says this before it ends its recordings.
    var isOver: Bool { get }

    /// The present positions and sizes.
    var report: RecordingReport { get }
}

/// Records the events of one name.
package protocol RecordingLine: AnyObject, Sendable {
    /// Waits for the room that an event with a payload of this many bytes needs; called without any lock, before the
    /// event is recorded.
    func makeRoom(for byteCount: Int)

    /// Records an event of this object's name.
    ///
    /// Called under the locks of strands, so it calls no other code. It waits for nothing but the file system, and only
    /// if other threads have taken the room that ``makeRoom(for:)`` waited for.
    /// - Parameters:
    ///   - payload: read, like the context, only during the call.
    ///   - owed: the receivers that the event is owed to, until a note says that they have settled it.
    ///   - whenSettled: called once, on another thread, when the event is safe or cannot become safe; nil if nothing
    ///     waits for the event.
    /// - Returns: Whether the event is safe already; then `whenSettled` is not called.
    /// - Throws: Why the event is not recorded; the event's publisher learns of this as if a handler had thrown.
    func record(
        _ payload: UnsafeRawBufferPointer,
        context: BorrowedContext,
        owed: [OwedReceiver],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws -> Bool

    /// Records an event, if recording needs no wait and makes the event safe at once.
    ///
    /// Called without any lock, and only if ``EventRecording/isSafeAtOnce`` is true.
    /// - Parameter owed: as in ``record(_:context:owed:whenSettled:)``.
    /// - Returns: Whether the event is recorded; if not, ``record(_:context:owed:whenSettled:)`` is called for it.
    func recordAtOnce(_ payload: UnsafeRawBufferPointer, context: BorrowedContext, owed: [OwedReceiver]) -> Bool
}
