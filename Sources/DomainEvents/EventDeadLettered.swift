/// An event was given up for one process; it is kept as a dead letter, and does not come again by itself.
public struct EventDeadLettered: DomainEvent, SelfReport {
    /// What led to a dead letter.
    public enum Cause: String, Sendable, Hashable, Codable {
        /// The process refused the event; as a rule `EventRefused` was announced too.
        case refused
        /// The process crashed over the event as often as it may; a broken protocol and a missed deadline count as
        /// crashes.
        case crashes
        /// The process was given up or removed; or, since the host was started again, it no longer subscribes to the
        /// event, or no longer takes an event of this size.
        case workerUnavailable
    }

    /// The name of the event.
    public let event: String

    /// The identity of the event, as ``EventID/description`` spells it.
    public let id: String

    /// The process that the event was for: a worker, or `host`.
    public let worker: String

    /// What led to the dead letter.
    public let cause: Cause

    /// The reasons in words, oldest first: one for each crash, then the reason of a cause other than `crashes`.
    public let reasons: [String]

    /// How often the event was delivered to the process.
    public let attempts: Int

    /// The number of the dead letter; with it the letter can be put back or thrown away.
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
