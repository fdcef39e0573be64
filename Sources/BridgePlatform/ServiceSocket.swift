import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The socket to which this process reports its state to a service manager, by systemd's protocol, sd_notify(3).
package struct ServiceSocket: Sendable, Hashable {
    /// The path of the socket, or "@" with a name that lies in no file system.
    private let name: String

    /// How many bytes a message may have: systemd ignores a longer one as a whole (`NOTIFY_BUFFER_MAX`).
    package static let longestMessage = 4_096

    /// How many milliseconds a manager may take to make room for a message.
    private static let sendTimeout: CInt = 1_000

    /// - Parameter name: the value of `NOTIFY_SOCKET`; nil if there is none.
    /// - Returns: nil if no manager asks for the state, or its address is of a kind that is not supported (`vsock:`) or
    ///   longer than a socket's path may be.
    package init?(name: String?) {
        guard let name, name.hasPrefix("/") || name.hasPrefix("@"), name.utf8.count > 1,
            name.utf8.count <= UnixSocket.maximumPathLength
        else { return nil }
        self.name = name
    }

    /// Sends assignments, one a line, as one message; waits a second at most.
    ///
    /// The caller keeps the message within ``longestMessage``.
    package func send(_ state: String) throws(SystemError) {
        let bytes = Array(state.utf8)
        _ = try SystemError.check("telling the service manager at \(name)") {
            cbp_datagram_send(name, bytes, bytes.count, Self.sendTimeout)
        }
    }
}
