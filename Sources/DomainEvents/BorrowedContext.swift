/// What is known about an event, in a form whose copies count no references.
///
/// Nearly always this is a few numbers and uncounted sources. An ``EventContext`` is made from it only where one is
/// needed: for example for a handler that asks for it; for an event that goes to more than one peer, is held or awaits
/// receipts; and for a tap, a trace or an error. The code that makes this value keeps alive what the value refers to,
/// as long as the value is used.
@usableFromInline
package struct BorrowedContext: BitwiseCopyable {
    /// The event's origin.
    package let source: Unmanaged<EventSource>
    package let number: UInt64
    package let nanosecondsSinceEpoch: UInt64
    /// As in ``EventContext/cause``.
    package let cause: BorrowedID?
    /// The first event of the chain of causes; may be nil if the cause or the event itself is the first.
    package let knownRoot: BorrowedID?
    private let settledBelow: UInt64?
    /// The whole context, if this value was made from one; nil if it was made from numbers and sources.
    ///
    /// Numbers and sources are enough for an event that has no trace and no bookmark, and is sent for the first time.
    package let full: UnsafePointer<EventContext>?

    /// Describes an event that has no trace and no bookmark, and is sent for the first time.
    ///
    /// The caller keeps the sources alive as long as this value is used.
    package init(
        source: Unmanaged<EventSource>,
        number: UInt64,
        nanosecondsSinceEpoch: UInt64,
        settledBelow: UInt64? = nil,
        cause: BorrowedID? = nil,
        root: BorrowedID? = nil
    ) {
        self.source = source
        self.number = number
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.settledBelow = settledBelow
        self.cause = cause
        knownRoot = root
        full = nil
    }

    /// - Parameter context: stays at its address as long as this value is used.
    package init(_ context: UnsafePointer<EventContext>) {
        source = .passUnretained(context.pointee.id.source)
        number = context.pointee.id.number
        nanosecondsSinceEpoch = context.pointee.nanosecondsSinceEpoch
        cause = context.pointee.cause.map { BorrowedID($0) }
        knownRoot = context.pointee.knownRoot.map { BorrowedID($0) }
        settledBelow = nil
        full = context
    }

    /// The whole context; made from the numbers and sources if this value was not made from a context.
    package var context: EventContext {
        full?.pointee
            ?? EventContext(
                id: id,
                nanosecondsSinceEpoch: nanosecondsSinceEpoch,
                cause: cause?.id,
                root: knownRoot?.id,
                settledBelow: settledBelow
            )
    }

    package var id: EventID { borrowedID.id }

    package var borrowedID: BorrowedID { BorrowedID(source: source, number: number) }

    /// As in ``EventContext/root``.
    package var root: BorrowedID { knownRoot ?? cause ?? borrowedID }

    /// Whether the event has no trace and no bookmark, and is sent for the first time; it may have causes.
    package var isPlain: Bool {
        guard let full else { return true }
        return full.pointee.attempt == 1 && full.pointee.bookmark == nil && full.pointee.traceparent == nil
    }

    /// As in ``EventContext/attempt``.
    package var attempt: UInt64 { full.map { UInt64(clamping: $0.pointee.attempt) } ?? 1 }

    /// As in ``EventContext/isReplay``.
    package var isReplay: Bool { full.map { $0.pointee.isReplay } ?? false }

    /// As in ``EventContext/isRecorded``.
    package var isRecorded: Bool { full.map { $0.pointee.isRecorded } ?? false }

    /// The event's bookmark; nil in most events.
    package var bookmark: WorkerBookmark? { full.flatMap { $0.pointee.bookmark } }

    /// As in ``EventContext/traceparent``.
    package var traceparent: Traceparent? { full.flatMap { $0.pointee.traceparent } }
}

extension EventContext {
    /// Lends the context to `body`.
    package func withBorrowed<R, Failure: Error>(_ body: (BorrowedContext) throws(Failure) -> R) throws(Failure) -> R {
        try withUnsafePointer(to: self) { (context) throws(Failure) in try body(BorrowedContext(context)) }
    }
}
