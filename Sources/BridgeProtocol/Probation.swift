/// The events that a receiver had begun and not finished when it crashed; each stays until it is settled.
///
/// One of them may have crashed the receiver. As long as an event is on probation, at most one event is in flight. So
/// the next crash finds at most one event open, which gets a *strike*.
package struct Probation: Sendable, Hashable {
    /// What a crash says about the events that it found open.
    package enum Finding: Sendable, Hashable {
        /// No event was open: the receiver alone is to blame.
        case noEvent
        /// Several events were open, and it is unknown which is to blame; from now on they go one at a time.
        case several
        /// One event was open. `strikes` has the reasons of all its strikes, the new strike included.
        case struck(sequence: UInt64, strikes: [String])
    }

    /// The reasons of each event's strikes, by the event's sequence.
    private var strikes: [UInt64: [String]] = [:]

    package init() {}

    package var isEmpty: Bool { strikes.isEmpty }

    /// The reasons of an event's strikes, oldest first; nil if the event is not on probation.
    package func strikes(of sequence: UInt64) -> [String]? { strikes[sequence] }

    /// Puts an event on probation, with the strikes that it has already.
    package mutating func admit(_ sequence: UInt64, strikes earlier: [String] = []) {
        strikes[sequence, default: []] += earlier
    }

    /// An event was acknowledged, refused, or taken out.
    package mutating func settled(_ sequence: UInt64) {
        if !strikes.isEmpty { strikes[sequence] = nil }
    }

    /// The receiver has crashed, with these events open.
    package mutating func crashed(suspects: [UInt64], because reason: String) -> Finding {
        for suspect in suspects { admit(suspect) }
        guard let only = suspects.first else { return .noEvent }
        guard suspects.count == 1 else { return .several }
        let all = strikes[only, default: []] + [reason]
        strikes[only] = all
        return .struck(sequence: only, strikes: all)
    }
}
