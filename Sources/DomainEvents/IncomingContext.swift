/// What is known about an event from another process, in a form that costs no references to copy.
///
/// Nearly always it is a few numbers, and the context is made of them only if a handler asks for it.
package struct IncomingContext: BitwiseCopyable {
    private let source: Unmanaged<EventSource>
    private let number: UInt64
    private let nanosecondsSinceEpoch: UInt64
    private let settledBelow: UInt64?
    /// The context of an event with causes, a trace or an earlier attempt; nil for other events.
    private let full: UnsafePointer<EventContext>?

    /// An event without causes, sent for the first time.
    ///
    /// - Parameter source: the event's origin, which the caller keeps as long as this value is used.
    package init(
        source: Unmanaged<EventSource>,
        number: UInt64,
        nanosecondsSinceEpoch: UInt64,
        settledBelow: UInt64?
    ) {
        self.source = source
        self.number = number
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.settledBelow = settledBelow
        full = nil
    }

    /// - Parameter context: lies where it is as long as this value is used.
    package init(_ context: UnsafePointer<EventContext>) {
        source = .passUnretained(context.pointee.id.source)
        (number, nanosecondsSinceEpoch, settledBelow) = (0, 0, nil)
        full = context
    }

    /// The context itself.
    package var context: EventContext {
        full?.pointee
            ?? EventContext(
                id: EventID(source: source.takeUnretainedValue(), number: number),
                nanosecondsSinceEpoch: nanosecondsSinceEpoch,
                settledBelow: settledBelow
            )
    }
}
