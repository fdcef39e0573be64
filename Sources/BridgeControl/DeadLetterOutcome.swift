/// The outcome of a command about one dead letter.
public struct DeadLetterOutcome: Sendable, Hashable, Codable {
    /// The kinds of outcomes.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// The process that the event was for has accepted the event, and not handled it yet; the letter is gone.
        case accepted
        /// The handlers of the host have returned; the letter is gone.
        case handled
        /// The letter was thrown away, and its event with it.
        case discarded
        /// The event was not taken, and the letter is kept; or the event was refused again, and is a dead letter under
        /// a new number.
        case refused
        /// There is no letter of that number.
        case unknown
    }

    /// The number of the letter.
    public var letter: UInt64
    /// The kind of outcome.
    public var kind: Kind
    /// The process that the event was for: a worker, or `host`; nil if the host does not say, as for an unknown letter.
    public var worker: String?
    /// Why the command was refused, or the event was refused again, as a sentence; nil without a refusal.
    public var refusal: String?

    /// Makes an outcome.
    public init(letter: UInt64, kind: Kind, worker: String? = nil, refusal: String? = nil) {
        self.letter = letter
        self.kind = kind
        self.worker = worker
        self.refusal = refusal
    }
}
