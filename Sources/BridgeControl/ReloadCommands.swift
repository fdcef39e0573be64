public import DomainEvents

/// Asks the host's program to read its configuration again, and to make the workers conform to it.
///
/// The host itself has no configuration. The program that contains it subscribes to this event, as `supervisor run`
/// does, and answers with a ``ConfigurationReloaded`` that has this event as its cause. If no program subscribes, the
/// sender's `request` throws `DeliveryError.Code.noSubscriber`.
public struct ConfigurationReloadRequested: DomainEvent, SelfReport, Hashable {
    /// Makes the command.
    public init() {}
}

/// The answer of the host's program to a ``ConfigurationReloadRequested``, when all is done or refused.
///
/// Only the sender of the command gets the answer.
public struct ConfigurationReloaded: DomainEvent, SelfReport, Hashable {
    /// The outcome of the command.
    public let outcome: ReloadOutcome

    /// Makes the answer.
    public init(_ outcome: ReloadOutcome) {
        self.outcome = outcome
    }
}
