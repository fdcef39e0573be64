public import DomainEvents
import NamedSockets

/// A process has attached to the host through its control socket, and has said which events it wants.
public struct ClientAttached: DomainEvent, SelfReport {
    /// The name that the host gave the client, such as `client-3`; no other client of this host has or gets it.
    public let client: String
    /// What the client calls itself.
    public let title: String
    /// The process that connected as the client; only a hint, as the system may use the number again.
    ///
    /// 0 for a process that has no number here: it is in another PID namespace, or simulated.
    public let pid: Int32
}

/// A client has gone.
///
/// Events that the client had not acknowledged are gone with it; events that it had published and sent are not.
public struct ClientDetached: DomainEvent, SelfReport {
    /// The name that the host gave the client.
    public let client: String
    /// What the client calls itself.
    public let title: String
    /// Why the client has gone, as a phrase that follows the name: `said goodbye: the client was closed`.
    public let reason: String
}

/// Something has happened at the control socket: connections were turned away, or the socket's file was removed.
///
/// The host gathers reports of one kind, and publishes them once a second at most.
public struct ControlSocketReported: DomainEvent, SelfReport {
    /// The socket's path.
    public let path: String
    /// What has happened, as a sentence.
    public let text: String

    init(_ report: SocketReport) {
        path = report.path
        text = report.description
    }
}

/// A process that is attached through the control socket.
public struct ClientStatus: Sendable, Hashable {
    /// The name that the host gave the client.
    public let client: String
    /// What the client calls itself.
    public let title: String
    /// The process that connected as the client.
    public let pid: Int32
    /// The number of the client's user, as the kernel noted it at the connection.
    public let user: UInt32
    /// How many events wait for the client or are on their way to it.
    public let outboxEvents: Int
    /// How many events the client's overflow policy has dropped.
    public let dropped: UInt64
}
