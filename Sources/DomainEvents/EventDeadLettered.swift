/// An event was given up for one process: it is kept aside as a dead letter, and does not come again by itself.
public struct EventDeadLettered: DomainEvent, SelfReport {
    /// What has led to a dead letter.
    public enum Cause: String, Sendable, Hashable, Codable {
        /// The process refused it; `EventRefused` was announced too.
        case refused
        /// The process crashed over it as often as it may, or broke the protocol, or did not finish it before its
        /// deadline.
        case crashes
        /// The process was given up, and gets nothing until it is started again.
        case workerUnavailable
    }

    /// The name of the event.
    public let event: String

    /// The identity of the event, as ``EventID/description`` spells it.
    public let id: String

    /// The process that it was for: a worker, or `host`.
    public let worker: String

    /// What has led to it.
    public let cause: Cause

    /// Why, in words: for `crashes` one reason for each crash, oldest first; otherwise strikes from before come first.
    public let reasons: [String]

    /// How often the event was delivered to the process.
    public let attempts: Int

    /// The number of the dead letter, by which it can be put back or thrown away.
    public let letter: UInt64

    /// Makes the event.
    public init(
        event: String,
        id: String,
        worker: String,
        cause: Cause,
        reasons: [String],
        attempts: Int,
        letter: UInt64
    ) {
        self.event = event
        self.id = id
        self.worker = worker
        self.cause = cause
        self.reasons = reasons
        self.attempts = attempts
        self.letter = letter
    }
}
