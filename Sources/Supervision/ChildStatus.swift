/// A snapshot of what is known about a child.
public struct ChildStatus: Hashable, Sendable {
    /// The child's name.
    public var name: String

    /// Where the child is in its life.
    public var state: ChildState

    /// The id of the child's process; nil while there is no process.
    public var pid: Int32?

    /// The number of the child's present or last start, 0 before the first; a failed replacement uses up a number, too.
    public var starts: Int

    /// How often the child was started again because it, or a sibling that it restarts with, ended by itself or failed.
    public var restarts: Int

    /// How the child's last incarnation ended.
    public var lastExit: ExitReason?

    /// The child's last deaths, the oldest first, at most `deathTallyLimit` of them.
    public var deaths: [ChildDeath]

    /// The fault for which the supervisor ends the child, such as a broken protocol; nil if there is none.
    public var fault: ExitReason?

    /// How the child's process has ended; nil unless the host still handles what the process has left, such as events.
    ///
    /// When the host has finished, the child is down and may be started again.
    public var ended: ExitReason?

    /// What the host waits for while ``ended`` is set; nil if it waits for nothing in particular.
    ///
    /// It is a phrase such as `a handler of BoxProvisioned` or `room at worker "store"`.
    public var waitsFor: String?

    /// The process that comes up beside the present one, to take its place; nil if there is none.
    public var replacement: ChildReplacement?

    /// How many deaths are kept: enough to see a pattern, few enough to print.
    public static let deathTallyLimit = 10

    /// Makes a snapshot.
    public init(
        name: String,
        state: ChildState,
        pid: Int32? = nil,
        starts: Int = 0,
        restarts: Int = 0,
        lastExit: ExitReason? = nil,
        deaths: [ChildDeath] = [],
        fault: ExitReason? = nil,
        ended: ExitReason? = nil,
        waitsFor: String? = nil,
        replacement: ChildReplacement? = nil
    ) {
        self.name = name
        self.state = state
        self.pid = pid
        self.starts = starts
        self.restarts = restarts
        self.lastExit = lastExit
        self.deaths = deaths
        self.fault = fault
        self.ended = ended
        self.waitsFor = waitsFor
        self.replacement = replacement
    }
}

/// A process that is to take the place of a child's present one.
///
/// While ``isReady`` is true, the present process finishes what it has.
public struct ChildReplacement: Hashable, Sendable {
    /// Which start of the child this process is, counted from 1.
    public var start: Int

    /// The process id; nil until there is a process.
    public var pid: Int32?

    /// Whether this process is ready, and waits for the end of the present process.
    public var isReady: Bool

    /// Makes a snapshot.
    public init(start: Int, pid: Int32? = nil, isReady: Bool = false) {
        self.start = start
        self.pid = pid
        self.isReady = isReady
    }
}

/// One entry of a child's death tally: which incarnation ended, when, and why.
public struct ChildDeath: Hashable, Sendable {
    /// When the incarnation ended, or failed to start, on the supervisor's monotonic clock.
    public var time: Duration

    /// Which start of the child the incarnation was, counted from 1.
    public var start: Int

    /// Why the incarnation ended.
    public var reason: ExitReason

    /// Whether the child was stopped on request, with a sibling or for lack of work: none of these is a failure.
    public var wasAsked: Bool

    /// The resources that the process had used; nil if there was no process, or if its use is not known.
    public var usage: ResourceUsage?

    /// Makes an entry.
    public init(
        time: Duration,
        start: Int,
        reason: ExitReason,
        wasAsked: Bool,
        usage: ResourceUsage? = nil
    ) {
        self.time = time
        self.start = start
        self.reason = reason
        self.wasAsked = wasAsked
        self.usage = usage
    }
}
