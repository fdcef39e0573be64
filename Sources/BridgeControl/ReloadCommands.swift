public import DomainEvents

/// The program that has the host is to read its configuration again, and to bring the workers to what it says.
///
/// The host itself knows no configuration: the program that it is a part of subscribes to this, as `supervisor run`
/// does, and answers with a ``ConfigurationReloaded`` that was caused by it. Where no program subscribes, the one who
/// asks with `request` is told so.
public struct ConfigurationReloadRequested: DomainEvent, SelfReport, Hashable {
    /// Makes the command.
    public init() {}
}

/// The answer of the program that has the host to a ``ConfigurationReloadRequested``, when all is done or refused.
///
/// Only the one who has asked gets it.
public struct ConfigurationReloaded: DomainEvent, SelfReport, Hashable {
    /// What the command came to.
    public let outcome: ReloadOutcome

    /// Makes the answer.
    public init(_ outcome: ReloadOutcome) {
        self.outcome = outcome
    }
}
