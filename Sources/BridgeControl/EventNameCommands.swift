public import DomainEvents

/// Asks a host for the names of events that it knows, with the processes that want and publish them.
///
/// The host answers with an ``EventNamesReported`` of the first names behind ``after``.
public struct EventNamesRequested: DomainEvent, SelfReport, Hashable {
    /// Only names that come behind this one in the order of bytes; empty for all.
    public let after: String

    /// Makes the question.
    public init(after: String = "") {
        self.after = after
    }
}

/// The answer of a host to an ``EventNamesRequested``.
public struct EventNamesReported: DomainEvent, SelfReport, Hashable {
    /// At most this many names are in one answer.
    public static let mostNames = 500

    /// The names, in the order of their bytes.
    public let names: [EventNameReport]
    /// Whether these are the last names.
    public let isComplete: Bool

    /// Makes the answer.
    public init(names: [EventNameReport], isComplete: Bool) {
        self.names = names
        self.isComplete = isComplete
    }
}
