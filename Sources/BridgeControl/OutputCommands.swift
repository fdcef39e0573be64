public import DomainEvents

/// Asks a host for the last lines that a worker has printed.
///
/// The host answers with a ``WorkerOutputReported`` of the oldest lines behind ``after``.
public struct WorkerOutputRequested: DomainEvent, SelfReport, Hashable {
    /// The name of a worker, of a pool, or of one of its members.
    public let worker: String
    /// Only lines with a greater number; 0 for all that the host has kept.
    public let after: UInt64

    /// Makes the command.
    public init(worker: String, after: UInt64 = 0) {
        self.worker = worker
        self.after = after
    }
}

/// The answer of a host to a ``WorkerOutputRequested``.
public struct WorkerOutputReported: DomainEvent, SelfReport, Hashable {
    /// At most this many lines are in one answer.
    public static let mostLines = 1_000

    /// The lines, in the order in which the host has read them.
    public let lines: [OutputLine]
    /// Whether these are the last lines so far.
    public let isComplete: Bool
    /// Whether the host had forgotten lines behind ``WorkerOutputRequested/after`` by then; false if that is 0.
    public let hasMissed: Bool
    /// Why there is no answer, as a sentence; nil if there is one.
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
