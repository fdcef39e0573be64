import Synchronization

/// What is known about the event being handled, besides its content.
///
/// Read it inside a handler with ``current``, or get it together with the event. An event published inside a handler
/// gets the handled event as its cause without further code. Code that the handler starts on another thread, on a queue
/// or in a detached task passes the cause on with `publish(_:causedBy:)`.
public struct EventContext: Sendable {
    /// The event's identity, the same for every subscriber and every redelivery.
    public let id: EventID

    /// When the event was published, in nanoseconds since 1970-01-01 00:00 UTC, by the publisher's clock.
    public let nanosecondsSinceEpoch: UInt64

    /// Counts the deliveries to a process: 1 the first time, more if a process died before it acknowledged the event.
    public var attempt: Int { attemptAndMark & ~Self.replayMark }

    /// Whether an operator has a journal's event sent again, to this process alone (`supervisor journal replay`).
    ///
    /// The event has the identity, time, causes and trace that it had the first time, and its ``attempt`` is 2 or more.
    /// A handler whose effects leave the process, such as one that sends mail, reads this to leave them out. An event
    /// that the handler publishes is an event like any other, and has no such mark.
    public var isReplay: Bool { attemptAndMark & Self.replayMark != 0 }

    /// The attempt, and the mark of a replay in a bit that no attempt reaches: so an event without the mark costs not
    /// even a store.
    private var attemptAndMark: Int

    private static let replayMark = 1 << 62

    /// The event whose handler published this event; nil if nothing caused it.
    public let cause: EventID?

    /// The first event of the chain of causes; the event's own identity if nothing caused it.
    public var root: EventID { knownRoot ?? cause ?? id }
    /// The root if it is not the cause; nil in most events, so passing them on counts no references.
    private let knownRoot: EventID?

    /// Where in a distributed trace the event belongs: the causing event's place, unless the event was published with
    /// its own.
    public let traceparent: Traceparent?

    /// The number below which no event of the same origin comes again; nil if the sender gave no such number.
    ///
    /// A store that keeps the identifiers of handled events may forget those with a lower number. Only events that an
    /// operator replays from a journal do come again: ``isReplay`` is true for them.
    public let settledBelow: UInt64?

    /// The bookmark that the event's worker has put on it; nil in most events.
    ///
    /// Only in the worker, on its link to the host, and from there into the journal: it is not passed on.
    package let bookmark: WorkerBookmark?

    package init(
        id: EventID,
        nanosecondsSinceEpoch: UInt64,
        attempt: Int = 1,
        cause: EventID? = nil,
        root: EventID? = nil,
        traceparent: Traceparent? = nil,
        settledBelow: UInt64? = nil,
        bookmark: WorkerBookmark? = nil
    ) {
        self.id = id
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        attemptAndMark = attempt
        self.cause = cause
        knownRoot = root
        self.traceparent = traceparent
        self.settledBelow = settledBelow
        self.bookmark = bookmark
    }

    /// The same context, without a bookmark.
    package var withoutBookmark: EventContext {
        EventContext(
            id: id,
            nanosecondsSinceEpoch: nanosecondsSinceEpoch,
            attempt: attemptAndMark,
            cause: cause,
            root: knownRoot,
            traceparent: traceparent,
            settledBelow: settledBelow
        )
    }

    /// The same context, with the mark of a replay, and as a delivery after the first.
    ///
    /// The source of the event may have to bring its events again: see `EventSource(restored:)`.
    package var replayed: EventContext {
        var marked = self
        marked.attemptAndMark = max(attempt, 2) | Self.replayMark
        return marked
    }

    /// The context of the event that the calling handler, synchronous or asynchronous, is handling; nil outside
    /// handlers.
    public static var current: EventContext? {
        DeliveryThread.unmanaged._withUnsafeGuaranteedRef { thread in
            thread.isDelivering ? thread.resolvedContext() : nil
        } ?? handledByTask
    }

    /// Whether the calling code runs in a handler, and so has a ``current`` context.
    static var isCurrent: Bool {
        DeliveryThread.unmanaged._withUnsafeGuaranteedRef { $0.isDelivering } || handledByTask != nil
    }

    /// The context of the event that an asynchronous handler is handling; the handler may change threads.
    package static var handledByTask: EventContext? { areTasksHandling.load(ordering: .relaxed) ? ofTask : nil }

    @TaskLocal private static var ofTask: EventContext?

    /// Whether an asynchronous handler has ever run in this process: until then no event is published by one, and none
    /// pays for the look into the task.
    private static let areTasksHandling = Atomic(false)

    /// Runs an asynchronous handler on its actor.
    static func handle(
        _ context: EventContext,
        isolation: isolated (any Actor)?,
        _ handler: () async throws -> Void
    ) async throws {
        if !areTasksHandling.load(ordering: .relaxed) { areTasksHandling.store(true, ordering: .relaxed) }
        try await $ofTask.withValue(context, operation: handler, isolation: isolation)
    }
}
