package import BridgePlatform
package import BridgeTransport

/// A process that has connected and begun to speak; nothing that it has sent was read yet.
///
/// Until ``introduced()`` or ``ended()`` is called, the process takes a place at the entrance, and its time is limited.
/// If its time is over or it has to make room, the entrance cuts the process off, which ends ``stream``.
package final class Arrival: Sendable {
    package let stream: any ByteStream
    /// What the kernel says of the process: its user, which may connect, and its number, which is only a hint.
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

    /// The process has said hello and was accepted: it may stay.
    package func introduced() { entrance?.settle(.introduced(connection)) }

    /// The caller sends the process away; the entrance reports `matter` as the reason.
    package func refused(_ matter: SocketReport.Matter) { entrance?.note(matter) }

    /// The process has gone.
    package func ended() { entrance?.settle(.ended(connection)) }
}
