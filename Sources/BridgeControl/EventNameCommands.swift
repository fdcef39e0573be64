public import DomainEvents

/// Asks a host for the names of events that it knows, with the processes that want and publish them.
///
/// The host answers with an ``EventNamesReported`` of the first names that follow ``after``.
public struct EventNamesRequested: DomainEvent, SelfReport, Hashable {
    /// The name that the reported names follow in the order of bytes; empty for all names.
    public let after: String

    /// Makes the question.
    public init(after: String = "") {
        self.after = after
    }
}

/// The answer of a host to an ``EventNamesRequested``.
public struct EventNamesReported: DomainEvent, SelfReport, Hashable {
    /// The most names that one answer has.
    public static let mostNames = 500

    /// The names, in the order of their bytes.
    public let names: [EventNameReport]
    /// Whether ``names`` reaches the last name.
    public let isComplete: Bool

    /// Makes the answer.
    public init(names: [EventNameReport], isComplete: Bool) {
        self.names = names
        self.isComplete = isComplete
    }
}
