/// What is known about an event, in a form that costs no references to copy.
///
/// Nearly always this is a few numbers, and a context is made of them only for code that needs one: the handler of an
/// event from another process, or a journal, a trace or an error of an event that leaves this process. The code that
/// makes this value keeps alive what the value refers to, as long as the value is used.
@usableFromInline
package struct BorrowedContext: BitwiseCopyable {
    /// The event's origin.
    package let source: Unmanaged<EventSource>
    package let number: UInt64
    package let nanosecondsSinceEpoch: UInt64
    private let settledBelow: UInt64?
    /// The whole context, for an event with causes, a trace or an earlier attempt; nil if the numbers are enough.
    package let full: UnsafePointer<EventContext>?

    /// An event without causes, sent for the first time.
    ///
    /// - Parameter source: the event's origin, which the caller keeps as long as this value is used.
    package init(
        source: Unmanaged<EventSource>,
        number: UInt64,
        nanosecondsSinceEpoch: UInt64,
        settledBelow: UInt64? = nil
    ) {
        self.source = source
        self.number = number
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.settledBelow = settledBelow
        full = nil
    }

    /// - Parameter context: stays at its address as long as this value is used.
    package init(_ context: UnsafePointer<EventContext>) {
        source = .passUnretained(context.pointee.id.source)
        number = context.pointee.id.number
        nanosecondsSinceEpoch = context.pointee.nanosecondsSinceEpoch
        settledBelow = nil
        full = context
    }

    /// The context itself.
    package var context: EventContext {
        full?.pointee
            ?? EventContext(id: id, nanosecondsSinceEpoch: nanosecondsSinceEpoch, settledBelow: settledBelow)
    }

    package var id: EventID { EventID(source: source.takeUnretainedValue(), number: number) }

    /// As in ``EventContext/attempt``.
    package var attempt: UInt64 { full.map { UInt64(clamping: $0.pointee.attempt) } ?? 1 }

    /// As in ``EventContext/isReplay``.
    package var isReplay: Bool { full.map { $0.pointee.isReplay } ?? false }

    /// As in ``EventContext/isRecorded``.
    package var isRecorded: Bool { full.map { $0.pointee.isRecorded } ?? false }

    /// The event's bookmark; nil in most events.
    package var bookmark: WorkerBookmark? { full.flatMap { $0.pointee.bookmark } }

    /// Whether nothing caused the event.
    package var hasNoCause: Bool { full.map { $0.pointee.cause == nil } ?? true }
}

extension EventContext {
    /// Lends the context to `body`.
    package func withBorrowed<R, Failure: Error>(_ body: (BorrowedContext) throws(Failure) -> R) throws(Failure) -> R {
        try withUnsafePointer(to: self) { (context) throws(Failure) in try body(BorrowedContext(context)) }
    }
}
