/// What is known about the event being handled, beside its content.
///
/// Read it inside a handler with ``current``, or get it together with the event. Events published inside a handler
/// carry the handled event as their cause by themselves; work handed to other threads, queues or detached tasks passes
/// it on with `publish(_:causedBy:)`.
public struct EventContext: Sendable {
    /// The event's identity, the same for every subscriber and every redelivery.
    public let id: EventID

    /// When the event was published, in nanoseconds since 1970-01-01 00:00 UTC, by the publisher's clock.
    public let nanosecondsSinceEpoch: UInt64

    /// Counts deliveries to a process: 1 the first time, more when a process died before it had acknowledged the event.
    public let attempt: Int

    /// The event whose handler published this one.
    public let cause: EventID?

    /// The first event of the chain of causes; the event's own identity if nothing caused it.
    public var root: EventID { knownRoot ?? cause ?? id }
    /// Only if it is not the cause: most events have neither, and are passed on without counting references to both.
    private let knownRoot: EventID?

    /// Where in a distributed trace the event belongs; that of the causing event, unless it was published with one of
    /// its own.
    public let traceparent: Traceparent?

    /// Events of the same origin with a lower number will not come again, if the sender said so.
    ///
    /// A store that keeps the identifiers of handled events may forget those below it.
    public let settledBelow: UInt64?

    package init(
        id: EventID,
        nanosecondsSinceEpoch: UInt64,
        attempt: Int = 1,
        cause: EventID? = nil,
        root: EventID? = nil,
        traceparent: Traceparent? = nil,
        settledBelow: UInt64? = nil
    ) {
        self.id = id
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.attempt = attempt
        self.cause = cause
        knownRoot = root
        self.traceparent = traceparent
        self.settledBelow = settledBelow
    }

    /// The context of the event that the calling handler, synchronous or asynchronous, is handling; nil outside
    /// handlers.
    public static var current: EventContext? {
        DeliveryThread.unmanaged._withUnsafeGuaranteedRef { thread in
            thread.isDelivering ? thread.resolvedContext() : nil
        } ?? handledByTask
    }

    /// Set around asynchronous handlers, which may change threads.
    @TaskLocal package static var handledByTask: EventContext?
}
