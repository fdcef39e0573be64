/// What a bridge had left undone when it ended.
public struct ShutdownReport: Sendable, Hashable {
    /// Events that were accepted for a worker and not handled; they are gone with the bridge unless a journal has them.
    public struct Leftover: Sendable, Hashable {
        /// The worker's name.
        public let worker: String
        /// How many events were left; at least 1.
        public let events: Int
    }

    /// The workers that have left events, in the order of the specifications.
    public let leftovers: [Leftover]

    /// Whether no event was left.
    public var isComplete: Bool { leftovers.isEmpty }

    /// What a bridge that was not shut down has lost, as a sentence; nil if nothing is lost.
    var loss: String? {
        if isComplete { return nil }
        let parts = leftovers.map { "\($0.events == 1 ? "1 event" : "\($0.events) events") for \"\($0.worker)\"" }
        return "a bridge was released without a shutdown; not handled: \(parts.joined(separator: ", "))"
    }

    init(_ leftovers: [(worker: String, events: Int)]) {
        self.leftovers = leftovers.map { Leftover(worker: $0.worker, events: $0.events) }
    }
}
