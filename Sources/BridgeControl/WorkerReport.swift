public import DomainEvents

/// The status of one worker.
public struct WorkerReport: Sendable, Hashable, Codable {
    /// The worker's name.
    public var name: String
    /// The pool that the worker is a member of; nil if it is in none.
    public var pool: String?
    /// The worker's process; nil if it has none.
    public var pid: Int32?
    /// Where the worker is in its life, in a word or two.
    ///
    /// The state is `not started`, `starting`, `ready`, `draining`, `stopping`, `backing off`, `dormant`, `stopped` or
    /// `gave up`. A later version may have further states.
    public var state: String
    /// A phrase about the state, such as `attempt 2, again in 1.2 s`; nil if there is nothing to add.
    ///
    /// If the process has ended, the phrase may be `killed by SIGKILL (9); waits for a handler of BoxProvisioned`.
    public var detail: String?
    /// The number of the worker's present or last start; a replacement that failed has used up a number, too.
    public var starts: Int
    /// How often the worker was started again because it, or a worker that it restarts with, ended by itself or failed.
    public var restarts: Int
    /// How long the worker's process has run, in milliseconds; nil without a process.
    public var uptimeMilliseconds: UInt64?
    /// How the last process ended, as a phrase that follows the name: `killed by SIGKILL (9)`; nil if none has ended.
    public var lastExit: String?
    /// How often the worker has broken the protocol or a limit.
    public var violations: UInt64
    /// How much memory of the worker's process lies in RAM, in bytes; nil without a process, or if that is not known.
    public var residentBytes: UInt64?
    /// The parts that the box lacks on this system, a sentence for each; nil for none, or if the host does not say.
    public var missingFromBox: [String]?
    /// How long the worker takes to settle an event, from a sample; nil if the host does not say.
    public var settling: DurationHistogram?
    /// The events to the worker; the ``EventTotals/waiting`` events lie in the worker's outbox in the host.
    public var sent: EventTotals
    /// The events from the worker.
    public var received: EventTotals

    /// Makes a report.
    public init(
        name: String,
        pool: String? = nil,
        pid: Int32? = nil,
        state: String,
        detail: String? = nil,
        starts: Int = 0,
        restarts: Int = 0,
        uptimeMilliseconds: UInt64? = nil,
        lastExit: String? = nil,
        violations: UInt64 = 0,
        residentBytes: UInt64? = nil,
        missingFromBox: [String]? = nil,
        settling: DurationHistogram? = nil,
        sent: EventTotals = EventTotals(),
        received: EventTotals = EventTotals()
    ) {
        self.name = name
        self.pool = pool
        self.pid = pid
        self.state = state
        self.detail = detail
        self.starts = starts
        self.restarts = restarts
        self.uptimeMilliseconds = uptimeMilliseconds
        self.lastExit = lastExit
        self.violations = violations
        self.residentBytes = residentBytes
        self.missingFromBox = missingFromBox
        self.settling = settling
        self.sent = sent
        self.received = received
    }
}

/// What has become of the events of one direction since the host was made; `EventCounts` of `EventBridge` says what
/// each term means.
public struct EventTotals: Sendable, Hashable, Codable {
    /// Events that were to be sent.
    public var offered: UInt64 = 0
    /// Events that were not taken.
    public var rejected: UInt64 = 0
    /// Events whose handlers have all returned.
    public var handled: UInt64 = 0
    /// Events that found no handler.
    public var unwanted: UInt64 = 0
    /// Events that were sent to a worker that acknowledges nothing.
    public var unconfirmed: UInt64 = 0
    /// Events that were refused.
    public var refused: UInt64 = 0
    /// Events that were left out because a later one took their place.
    public var coalesced: UInt64 = 0
    /// Events that an overflow policy dropped.
    public var dropped: UInt64 = 0
    /// Events that were given up because the worker crashed over them, or was removed.
    public var deadLettered: UInt64 = 0
    /// Events that are known to be gone.
    public var lost: UInt64 = 0
    /// Events that are accepted and not settled.
    public var waiting: UInt64 = 0
    /// How many bytes of the outbox the waiting events take.
    public var waitingBytes: UInt64 = 0
    /// The bytes of all events that have passed.
    public var bytes: UInt64 = 0

    /// Makes totals that are all 0.
    public init() {}

    /// Events that were accepted and no longer wait, whatever became of them.
    public var settled: UInt64 {
        let open = rejected.addingReportingOverflow(waiting)
        return open.overflow || open.partialValue > offered ? 0 : offered - open.partialValue
    }
}
