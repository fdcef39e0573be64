/// Decides what a crash of one worker counts against: the worker itself, or the event that it crashed over.
package struct CrashLedger: Sendable, Hashable {
    package enum Verdict: Sendable, Hashable {
        /// The crash counts against the worker itself.
        case worker
        /// The event got a strike, and is sent again.
        case strike
        /// The event has as many strikes as it may have: it is not sent again.
        case deadLetter
        /// A dead letter too, and no event was handled since the last few: the worker is broken, whatever it is sent.
        case broken
    }

    /// The worker is broken after this many dead letters with no handled event between them.
    package static let deadLettersInARow = 3

    private let strikeLimit: Int
    private var deadLetters = 0

    package init(strikeLimit: Int) {
        self.strikeLimit = strikeLimit
    }

    /// An incarnation has acknowledged an event: the worker is able to do its work.
    package mutating func eventsWereAcknowledged() { deadLetters = 0 }

    /// Forgets the dead letters in a row: the worker gets another chance.
    package mutating func forget() { deadLetters = 0 }

    /// An incarnation has crashed; `finding` says over what.
    package mutating func crashed(_ finding: Probation.Finding) -> Verdict {
        guard case .struck(_, let strikes) = finding else { return .worker }
        guard strikes.count >= strikeLimit else { return .strike }
        deadLetters += 1
        guard deadLetters >= Self.deadLettersInARow else { return .deadLetter }
        forget()
        return .broken
    }
}
