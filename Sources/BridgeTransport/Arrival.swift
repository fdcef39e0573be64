package import BridgePlatform

/// A process that has connected and begun to speak; nothing that it has sent was read yet.
///
/// The entrance counts its place and its time until ``introduced()`` or ``ended()`` is called. It may also cut the
/// process off, which ends ``stream``.
package final class Arrival: Sendable {
    package let stream: any ByteStream
    /// A process of this user, as the kernel says; its number is a hint.
    package let peer: UnixSocket.PeerCredentials
    private let connection: UInt64
    private weak let entrance: (any Entrance)?

    package init(
        stream: any ByteStream,
        peer: UnixSocket.PeerCredentials,
        connection: UInt64,
        entrance: any Entrance
    ) {
        self.stream = stream
        self.peer = peer
        self.connection = connection
        self.entrance = entrance
    }

    /// It has said who it is: it may stay.
    package func introduced() { entrance?.settle(.introduced(connection)) }

    /// It is sent away, and that is reported.
    package func refused(_ matter: SocketReport.Matter) { entrance?.note(matter) }

    /// It has gone.
    package func ended() { entrance?.settle(.ended(connection)) }
}
