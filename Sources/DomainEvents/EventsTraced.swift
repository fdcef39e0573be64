/// Where a process was on the way of events, as far as it knows: each process that has a bridge publishes it about
/// itself while there is a subscriber.
///
/// Spans are gathered for 20 ms. Nothing waits for them: spans beyond 2,000 in that time, and spans that find no room
/// on their way, are left out and counted. Events of this name leave no spans themselves.
public struct EventsTraced: DomainEvent, SelfReport {
    /// What the process calls itself: `host`, a worker's name, or what a client calls itself.
    public let process: String

    /// Its number in the operating system.
    public let pid: Int32

    /// What it was at.
    public let spans: [TracedSpan]

    /// The threads that are named in ``spans``.
    public let threads: [TracedThread]

    /// How many spans have been left out since the last event of this process.
    public let dropped: UInt64

    /// Makes the event.
    public init(process: String, pid: Int32, spans: [TracedSpan], threads: [TracedThread], dropped: UInt64) {
        self.process = process
        self.pid = pid
        self.spans = spans
        self.threads = threads
        self.dropped = dropped
    }

    /// More than this is in none of these events.
    package static let maximumSpans = 1_000

    /// Refuses what no process publishes that keeps to the rules: too many spans, and times that do not exist.
    public func validate() throws {
        guard spans.count <= Self.maximumSpans, threads.count <= Self.maximumSpans else {
            throw TraceError(description: "it has more than \(Self.maximumSpans) spans or threads")
        }
        for span in spans where span.start.addingReportingOverflow(span.duration).overflow {
            throw TraceError(description: "a span ends beyond the end of time")
        }
    }
}

/// A thread in whose time spans lie.
public struct TracedThread: Codable, Sendable, Hashable {
    /// Its number in the operating system.
    public let id: UInt64

    /// What it is called.
    public let name: String

    /// Makes the value.
    public init(id: UInt64, name: String) {
        self.id = id
        self.name = name
    }
}

/// A part of the way of one event through one process.
public struct TracedSpan: Codable, Sendable, Hashable {
    /// Which part.
    public enum Stage: String, Codable, Sendable, Hashable, CaseIterable {
        /// From the call that publishes it until it lies in the outboxes of all other processes that want it, and is
        /// written where the line is idle.
        case publish
        /// From the outbox of a peer until the event leaves for that; what waits in the queue before the outbox counts.
        case outbox
        /// From leaving for a peer until that has settled it, as far as the sender knows: there and back, and the
        /// handling between.
        case wire
        /// In the host: from its arrival until it lies in the outboxes of all others that want it.
        case passing
        /// From its arrival until all handlers here have returned, or the event was refused. Waiting for asynchronous
        /// handlers is in it.
        case handling
    }

    /// The event's name.
    public let event: String

    /// The event's identity, as ``EventID/description`` spells it; the same in all processes.
    public let id: String

    /// The identity of the event whose handler has published this one.
    public let cause: String?

    /// Counts deliveries, from 1.
    public let attempt: Int

    /// Which part of the way.
    public let stage: Stage

    /// When it began, in nanoseconds on the machine's monotonic clock (`CLOCK_MONOTONIC`), which all processes of a
    /// machine share.
    public let start: UInt64

    /// For how long, in nanoseconds.
    public let duration: UInt64

    /// The thread whose time it is; nil if it is no thread's, as that of an event that waits.
    public let thread: UInt64?

    /// Who gets it, of ``Stage/outbox`` and ``Stage/wire``; of the other stages who has sent it, nil if this process
    /// has published it.
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
