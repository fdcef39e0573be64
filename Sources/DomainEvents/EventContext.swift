import Synchronization

/// What is known about the event being handled, besides its content.
///
/// Read it inside a handler with ``current``, or get it together with the event. An event published inside a handler
/// gets the handled event as its cause without further code. Code that the handler starts on another thread, on a queue
/// or in a task has to pass the cause on with `publish(_:causedBy:)`; undetached tasks of an async handler need not,
/// even when the handler has returned.
public struct EventContext: Sendable {
    /// The event's identity, the same for every subscriber and every redelivery (``EventID`` names one exception).
    public let id: EventID

    /// When the event was published, in nanoseconds since 1970-01-01 00:00 UTC, by the publisher's clock.
    public let nanosecondsSinceEpoch: UInt64

    /// Counts the deliveries to a process: 1 the first time, more if the event may have been delivered there before.
    public var attempt: Int { attemptAndMark & ~(Self.replayMark | Self.recordedMark) }

    /// Whether a client has sent the event again, to this process alone (as `supervisor journal replay` does).
    ///
    /// The event has the identity, time, causes and trace that it had the first time, and its ``attempt`` is 2 or more.
    /// A handler whose effects leave the process, such as one that sends mail, can read this and skip those effects. An
    /// event that the handler publishes is an event like any other, and has no such mark.
    public var isReplay: Bool { attemptAndMark & Self.replayMark != 0 }

    /// Whether the journals of this process have the event already: it is replayed, or was delivered here before.
    package var isRecorded: Bool { attemptAndMark & (Self.replayMark | Self.recordedMark) != 0 }

    /// The attempt, and two marks in bits that no attempt reaches, so that an event without marks costs no store for
    /// them.
    private var attemptAndMark: Int

    private static let replayMark = 1 << 62
    private static let recordedMark = 1 << 61

    /// The event that caused this event, in a handler or by `causedBy:`; nil if nothing caused it, or if this is an
    /// event of another machine whose importer did not know the cause.
    public let cause: EventID?

    /// The first event of the chain of causes; the event's own identity if nothing caused it or it is a request.
    public var root: EventID { knownRoot ?? cause ?? id }
    /// The root; may be nil if the cause or the event itself is the root: passing a nil on counts no reference.
    let knownRoot: EventID?

    /// Where in a distributed trace the event belongs: the causing event's place, unless the event was published with
    /// its own.
    public let traceparent: Traceparent?

    /// The number below which no event of the same origin and incarnation comes again by itself; nil if it is unknown.
    ///
    /// A store that keeps the identifiers of handled events may forget those below it. An operator can still replay
    /// such an event from a journal (``isReplay`` is then true), or put back a dead letter of the host's own handlers.
    public let settledBelow: UInt64?

    /// The bookmark that the event's worker has put on it; nil in most events.
    ///
    /// It is kept in the worker, on its link to the host, and in the host's journal; the host does not pass it on.
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
    /// A caller that replays events also gives them a source of their own: see `EventSource(restored:)`.
    package var replayed: EventContext {
        var marked = self
        marked.attemptAndMark = max(attempt, 2) | Self.replayMark
        return marked
    }

    /// The same context, with the mark that the journals of this process have the event already.
    package var recorded: EventContext {
        var marked = self
        marked.attemptAndMark |= Self.recordedMark
        return marked
    }

    /// The context of the event that the calling handler, synchronous or asynchronous, is handling; nil outside
    /// handlers and the undetached tasks that asynchronous handlers have started.
    public static var current: EventContext? {
        DeliveryThread.unmanaged._withUnsafeGuaranteedRef { thread in
            thread.isDelivering ? thread.resolvedContext() : nil
        } ?? handledByTask
    }

    /// Whether the calling code runs in a handler, or in a task that an asynchronous handler has started and may be
    /// waiting for.
    ///
    /// Such code waits for no room: room comes only when handlers return. A task may outlive the call of the handler
    /// that has started it. The task then still has a ``current`` context, but this property is false: that call no
    /// longer waits for the task, and a later call must not wait for it.
    static var isInHandler: Bool {
        DeliveryThread.unmanaged._withUnsafeGuaranteedRef { $0.isDelivering }
            || areTasksHandling.load(ordering: .relaxed) && ofTask?.isUnderWay == true
    }

    /// The context of the event that an asynchronous handler is handling; the handler may change threads.
    ///
    /// A task that the handler has started keeps the context, even when the handler has returned.
    package static var handledByTask: EventContext? {
        areTasksHandling.load(ordering: .relaxed) ? ofTask?.context : nil
    }

    /// An event in an asynchronous handler, and the call of the handler that handles the event.
    private struct Handling: Sendable {
        let context: EventContext
        let calls: HandlerCalls
        let call: UInt64

        var isUnderWay: Bool { calls.isUnderWay(call) }
    }

    @TaskLocal private static var ofTask: Handling?

    /// Whether an asynchronous handler has ever run in this process; until then, no call looks into the task.
    private static let areTasksHandling = Atomic(false)

    /// Runs an asynchronous handler on its actor.
    ///
    /// - Parameter calls: the calls of this handler, of which none is under way.
    static func handle(
        _ context: EventContext,
        counting calls: HandlerCalls,
        isolation: isolated (any Actor)?,
        _ handler: () async throws -> Void
    ) async throws {
        if !areTasksHandling.load(ordering: .relaxed) { areTasksHandling.store(true, ordering: .relaxed) }
        let call = calls.begin()
        defer { calls.end(call) }
        try await $ofTask.withValue(
            Handling(context: context, calls: calls, call: call),
            operation: handler,
            isolation: isolation
        )
    }
}
