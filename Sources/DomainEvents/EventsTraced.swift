/// How events passed through one process, as far as that process knows; each process with a bridge publishes this about
/// itself while there is a subscriber.
///
/// A process gathers spans for 20 ms. No event waits for its spans: spans beyond 2,000 in that time, and spans that
/// find no room on their way, are left out and counted. Events of this name leave no spans themselves.
public struct EventsTraced: DomainEvent, SelfReport {
    /// The name of the process: `host`, a worker's name, or the name that a client gives itself.
    public let process: String

    /// The process's number in the operating system.
    public let pid: Int32

    /// The parts of events' ways that the process has seen.
    public let spans: [TracedSpan]

    /// The threads that are named in ``spans``.
    public let threads: [TracedThread]

    /// How many spans were left out since the process's previous event of this type.
    public let dropped: UInt64

    /// Makes the event.
    public init(process: String, pid: Int32, spans: [TracedSpan], threads: [TracedThread], dropped: UInt64) {
        self.process = process
        self.pid = pid
        self.spans = spans
        self.threads = threads
        self.dropped = dropped
    }

    /// The most spans, and the most threads, in one event of this type.
    package static let maximumSpans = 1_000

    /// Refuses an event with too many spans or threads, or with a span that ends beyond the largest time; a process
    /// that keeps to the rules publishes no such event.
    public func validate() throws {
        guard spans.count <= Self.maximumSpans, threads.count <= Self.maximumSpans else {
            throw TraceError(description: "it has more than \(Self.maximumSpans) spans or threads")
        }
        for span in spans where span.start.addingReportingOverflow(span.duration).overflow {
            throw TraceError(description: "a span ends beyond the end of time")
        }
    }
}

/// A thread on which spans ran.
public struct TracedThread: Codable, Sendable, Hashable {
    /// The thread's number in the operating system.
    public let id: UInt64

    /// The thread's name.
    public let name: String

    /// Makes the value.
    public init(id: UInt64, name: String) {
        self.id = id
        self.name = name
    }
}

/// A part of the way of one event through one process.
public struct TracedSpan: Codable, Sendable, Hashable {
    /// The parts of an event's way through a process.
    public enum Stage: String, Codable, Sendable, Hashable, CaseIterable {
        /// From the call that publishes the event, or the end of its wait for room, until the event lies in the
        /// outboxes of all other processes that want it; mostly it is written to idle links by then, too.
        case publish
        /// From entering the outbox of a peer until the event leaves for that peer; includes any wait in the queue
        /// before the outbox.
        case outbox
        /// From leaving for a peer until the sender knows that the peer has settled the event: the way there, the
        /// handling and the way back.
        case wire
        /// In the host: from the event's arrival until it lies in the outboxes of all other peers that want it.
        case passing
        /// From the event's arrival (in the host: from the end of its passing) until all handlers in this process have
        /// returned, asynchronous ones included, or the event was refused.
        case handling
    }

    /// The event's name.
    public let event: String

    /// The event's identity, as ``EventID/description`` spells it; the same in all processes.
    public let id: String

    /// The identity of the event that caused this event; nil if nothing caused it.
    public let cause: String?

    /// The number of this delivery, counted from 1.
    public let attempt: Int

    /// The part of the event's way.
    public let stage: Stage

    /// When the span began, in nanoseconds of the monotonic clock (`CLOCK_MONOTONIC`), which all processes of a machine
    /// share.
    public let start: UInt64

    /// How long the span took, in nanoseconds.
    public let duration: UInt64

    /// The thread on which the span ran; nil if it ran on no thread, such as the span of an event that waits.
    public let thread: UInt64?

    /// For ``Stage/outbox`` and ``Stage/wire`` the peer that gets the event; for the other stages the peer that sent
    /// it, nil if this process published it.
    public let peer: String?

    /// Makes the value.
    public init(
        event: String,
        id: String,
        cause: String? = nil,
        attempt: Int = 1,
        stage: Stage,
        start: UInt64,
        duration: UInt64,
        thread: UInt64? = nil,
        peer: String? = nil
    ) {
        self.event = event
        self.id = id
        self.cause = cause
        self.attempt = attempt
        self.stage = stage
        self.start = start
        self.duration = duration
        self.thread = thread
        self.peer = peer
    }
}

private struct TraceError: Error, CustomStringConvertible {
    let description: String
}
