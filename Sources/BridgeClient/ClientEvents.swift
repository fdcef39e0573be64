public import DomainEvents

/// The link of a client to its host has ended.
///
/// The client attaches again by itself, unless ``isFinal`` is true. Until it is attached again, events that it
/// publishes for others wait in its outbox, up to the outbox's limits.
public struct HostLost: DomainEvent, SelfReport {
    /// The host's control socket.
    public let path: String
    /// Why the link has ended, as a sentence.
    public let reason: String
    /// Whether the client has given up: the host has rejected it, or neither its user nor root serves the socket.
    ///
    /// Calls that wait for the host then throw, and the client carries no events any more.
    public let isFinal: Bool
}

/// A client is attached again, after its link to the host had ended.
///
/// Events that other processes published while there was no link have not come, and will not: the host did not keep
/// them for this client. Their number is not known. A program that shows a state has to ask for that state anew.
public struct HostRegained: DomainEvent, SelfReport {
    /// The host's control socket.
    public let path: String
    /// The host's name for this client now.
    public let client: String
    /// Whether this is the same start of the host as before; if not, its workers are new too.
    public let isSameHost: Bool
    /// For how long there was no link, in milliseconds.
    public let awayMilliseconds: UInt64
    /// The event names with subscribers in this process: the client may have missed events of these names.
    public let mayHaveMissed: [String]
    /// The identity of the last event that came before the loss, as `EventID.description` spells it; nil if none came.
    public let lastEvent: String?
}
