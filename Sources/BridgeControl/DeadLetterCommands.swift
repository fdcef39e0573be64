public import DomainEvents

/// Asks a host to list its dead letters.
///
/// The host answers with a ``DeadLettersReported`` of the oldest letters whose numbers are above ``after``.
public struct DeadLettersRequested: DomainEvent, SelfReport, Hashable {
    /// The name of the events whose letters are listed; nil for all events.
    public let event: String?
    /// The worker whose letters are listed, or `host`; nil for all.
    public let worker: String?
    /// The number above which letters are listed; 0 for all letters.
    public let after: UInt64

    /// Makes the command.
    public init(event: String? = nil, worker: String? = nil, after: UInt64 = 0) {
        self.event = event
        self.worker = worker
        self.after = after
    }
}

/// The answer of a host to a ``DeadLettersRequested``.
public struct DeadLettersReported: DomainEvent, SelfReport, Hashable {
    /// The most letters that one answer has.
    public static let mostLetters = 100

    /// Letters without their payloads, in the order of their numbers.
    public let letters: [DeadLetterReport]
    /// Whether the answer has all letters that were asked for; false if the host has more, with higher numbers.
    public let isComplete: Bool

    /// Makes the answer.
    public init(letters: [DeadLetterReport], isComplete: Bool) {
        self.letters = letters
        self.isComplete = isComplete
    }
}

/// Asks a host to show one dead letter, with its payload.
///
/// The host answers with a ``DeadLetterReported``.
public struct DeadLetterRequested: DomainEvent, SelfReport, Hashable {
    /// The number of the letter.
    public let letter: UInt64

    /// Makes the command.
    public init(letter: UInt64) {
        self.letter = letter
    }
}

/// The answer of a host to a ``DeadLetterRequested``.
public struct DeadLetterReported: DomainEvent, SelfReport, Hashable {
    /// The letter; nil if the host has no letter of that number.
    public let letter: DeadLetterReport?

    /// Makes the answer.
    public init(letter: DeadLetterReport?) {
        self.letter = letter
    }
}

/// Asks a host to offer the event of a dead letter again, to the process that the event was for.
///
/// The host answers with a ``DeadLetterSettled``.
public struct DeadLetterRedeliveryRequested: DomainEvent, SelfReport, Hashable {
    /// The number of the letter.
    public let letter: UInt64

    /// Makes the command.
    public init(letter: UInt64) {
        self.letter = letter
    }
}

/// Asks a host to throw a dead letter away.
///
/// The host answers with a ``DeadLetterSettled``.
public struct DeadLetterDiscardRequested: DomainEvent, SelfReport, Hashable {
    /// The number of the letter.
    public let letter: UInt64

    /// Makes the command.
    public init(letter: UInt64) {
        self.letter = letter
    }
}

/// The answer of a host to a ``DeadLetterRedeliveryRequested`` or a ``DeadLetterDiscardRequested``.
public struct DeadLetterSettled: DomainEvent, SelfReport, Hashable {
    /// The outcome of the command.
    public let outcome: DeadLetterOutcome

    /// Makes the answer.
    public init(_ outcome: DeadLetterOutcome) {
        self.outcome = outcome
    }
}
