/// Decides what a crash of one worker counts against: the worker itself, or the event that it crashed over.
package struct CrashLedger: Sendable, Hashable {
    package enum Verdict: Sendable, Hashable {
        /// The crash counts against the worker itself.
        case worker
        /// The event got a strike, and is sent again.
        case strike
        /// The event has reached the limit of strikes: it is not sent again.
        case deadLetter
        /// The event is not sent again. No event was handled between the last dead letters, so the worker is broken.
        case broken
    }

    /// After this many dead letters with no handled event between them, the worker is broken.
    package static let deadLettersInARow = 3

    package let strikeLimit: Int?
    private var deadLetters = 0

    /// - Parameter strikeLimit: how many strikes make an event a dead letter; nil if a crash strikes no event.
    package init(strikeLimit: Int?) {
        self.strikeLimit = strikeLimit
    }

    /// Whether a crash puts the open events on probation, and may give one of them a strike.
    package var strikesEvents: Bool { strikeLimit != nil }

    /// An incarnation has acknowledged an event: the worker is able to do its work.
    package mutating func eventsWereAcknowledged() { deadLetters = 0 }

    /// Forgets the dead letters in a row: the worker gets another chance.
    package mutating func forget() { deadLetters = 0 }

    /// An incarnation has crashed; `finding` says which events were open.
    package mutating func crashed(_ finding: Probation.Finding) -> Verdict {
        guard let strikeLimit, case .struck(_, let strikes) = finding else { return .worker }
        guard strikes.count >= strikeLimit else { return .strike }
        deadLetters += 1
        guard deadLetters >= Self.deadLettersInARow else { return .deadLetter }
        forget()
        return .broken
    }
}
