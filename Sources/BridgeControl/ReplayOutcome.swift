/// The outcome of an ``EventsReplayRequested``.
public struct ReplayOutcome: Sendable, Hashable, Codable {
    /// The kinds of outcomes.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// Each event of the command has a result.
        case done
        /// Another replay to the worker is under way, maybe another client's, so the host has sent none of these
        /// events; ask again later.
        case busy
        /// The command was wrong, or the worker takes no events; ``ReplayOutcome/results`` covers events before that.
        case refused
    }

    /// What became of one event.
    public struct Result: Sendable, Hashable, Codable {
        /// The kinds of results.
        public enum Kind: String, Sendable, Hashable, Codable {
            /// The worker has settled the event, and has not refused it.
            case handled
            /// The worker does not want events of this name, and has not got this one.
            case unwanted
            /// The worker has refused the event, or has crashed over it too often.
            case refused
            /// The worker stopped taking events before it had settled this one. It may still get the event when it is
            /// started again.
            case unavailable
        }

        /// The kind of result.
        public var kind: Kind
        /// Why the worker has refused the event, or is unavailable, as a sentence; nil for the other kinds.
        public var reason: String?

        /// Makes a result.
        public init(_ kind: Kind, reason: String? = nil) {
            self.kind = kind
            self.reason = reason
        }
    }

    /// The kind of outcome.
    public var kind: Kind
    /// What became of the first events of the command, in their order; of all, if ``kind`` is `done`.
    public var results: [Result]
    /// Why the command, or the rest of it, was refused, as a sentence; nil if it was not.
    public var refusal: String?

    /// Makes an outcome.
    public init(_ kind: Kind, results: [Result] = [], refusal: String? = nil) {
        self.kind = kind
        self.results = results
        self.refusal = refusal
    }
}
