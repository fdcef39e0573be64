public import DomainEvents

/// Asks a host for the lines that a worker has printed, as far as the host has kept them.
///
/// The host answers with a ``WorkerOutputReported`` of the oldest kept lines whose numbers are above ``after``.
public struct WorkerOutputRequested: DomainEvent, SelfReport, Hashable {
    /// The name of a worker, of a pool, or of a pool's member.
    public let worker: String
    /// The number above which lines are reported; 0 for all lines that the host has kept.
    public let after: UInt64

    /// Makes the command.
    public init(worker: String, after: UInt64 = 0) {
        self.worker = worker
        self.after = after
    }
}

/// The answer of a host to a ``WorkerOutputRequested``.
public struct WorkerOutputReported: DomainEvent, SelfReport, Hashable {
    /// The most lines that one answer has.
    public static let mostLines = 1_000

    /// The lines, in the order in which the host has read them.
    public let lines: [OutputLine]
    /// Whether ``lines`` reaches the last line so far.
    public let isComplete: Bool
    /// Whether the host no longer had some lines above ``WorkerOutputRequested/after``; false if `after` is 0.
    public let hasMissed: Bool
    /// Why the host has refused the question, as a sentence; nil if it has answered.
    public let refusal: String?

    /// Makes the answer.
    public init(
        lines: [OutputLine] = [],
        isComplete: Bool = true,
        hasMissed: Bool = false,
        refusal: String? = nil
    ) {
        self.lines = lines
        self.isComplete = isComplete
        self.hasMissed = hasMissed
        self.refusal = refusal
    }
}
