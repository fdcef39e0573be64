/// The events of an outbox that their receiver had begun and not finished when it crashed, until each is settled.
///
/// One of them has killed the receiver. While there are any, no more than one event is in flight: the next crash then
/// finds exactly one, and that one gets a *strike*.
package struct Probation: Sendable, Hashable {
    /// What a crash says about the events that were open in it.
    package enum Finding: Sendable, Hashable {
        /// No event was open: the receiver alone is to blame.
        case noEvent
        /// Several were open, and which of them is to blame is unknown; they go one at a time from now on.
        case several
        /// One was open. `strikes` has the reasons of all its strikes, this one included.
        case struck(sequence: UInt64, strikes: [String])
    }

    /// By sequence, the reasons of an event's strikes.
    private var strikes: [UInt64: [String]] = [:]

    package init() {}

    package var isEmpty: Bool { strikes.isEmpty }

    /// The reasons of an event's strikes, oldest first; nil if it is not on probation.
    package func strikes(of sequence: UInt64) -> [String]? { strikes[sequence] }

    /// Puts an event on probation, with the strikes that it has from before.
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
