/// The outcome of a ``ConfigurationReloadRequested``.
public struct ReloadOutcome: Sendable, Hashable, Codable {
    /// The kinds of outcomes.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// The configuration was taken; the workers conform to it, except as ``ReloadOutcome/sentences`` says.
        case taken
        /// The configuration has mistakes, or changes what cannot change; the former configuration stays in force.
        case mistaken
        /// The configuration cannot be read; the former configuration stays in force.
        case unreadable
        /// The program does not reload now; the former configuration stays in force.
        case refused
    }

    /// The most sentences that an outcome has.
    public static let mostSentences = 1_000

    /// The kind of outcome.
    public var kind: Kind
    /// The new workers; in this list and the next three, the name of a pool stands for its members.
    public var started: [String]
    /// The workers that are gone.
    public var stopped: [String]
    /// The workers that have another specification now.
    public var replaced: [String]
    /// The workers that were left alone.
    public var unchanged: [String]
    /// What has failed, if the configuration was taken; otherwise why it was not taken.
    ///
    /// A sentence about a worker names the worker, and a sentence about the configuration names its file.
    public var sentences: [String]

    /// Makes an outcome.
    public init(
        _ kind: Kind,
        started: [String] = [],
        stopped: [String] = [],
        replaced: [String] = [],
        unchanged: [String] = [],
        sentences: [String] = []
    ) {
        self.kind = kind
        self.started = started
        self.stopped = stopped
        self.replaced = replaced
        self.unchanged = unchanged
        self.sentences = sentences
    }
}
