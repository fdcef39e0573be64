package import BridgePlatform
import BridgeProtocol
package import BridgeTransport

/// How a client reaches its host.
package protocol WayToHost: Sendable {
    /// Connects to the host, without waiting for it; called once for each attempt.
    func connect(on poller: Poller) throws(BridgeClientError) -> any ByteStream
}

/// Connects to a host's control socket without waiting, and checks which user serves the socket.
struct HostSocket: WayToHost {
    let path: String

    func connect(on poller: Poller) throws(BridgeClientError) -> any ByteStream {
        UnixStream(untrusted: try descriptor(), poller: poller)
    }

    /// Connects to the socket, and checks that a process of this user or of the superuser serves it.
    private func descriptor() throws(BridgeClientError) -> SharedDescriptor {
        let (socket, user): (SharedDescriptor, UInt32)
        do throws(SystemError) {
            socket = SharedDescriptor(try UnixSocket.connectWithoutWaiting(to: path))
            user = try UnixSocket.peerCredentials(of: socket.rawValue).user
        } catch {
            if error.isFullBacklog {
                throw BridgeClientError(
                    .crowded,
                    "too many processes wait to attach at \(path): \(error)"
                )
            }
            throw BridgeClientError(.unreachable, "no host can be reached at \(path): \(error)")
        }
        // Only this user's host may get the events, not another user's process that has put a socket at the path. The
        // superuser can read the events anyway.
        guard user == CurrentProcess.user || user == Self.superuser else {
            throw BridgeClientError(.notTrusted, "the socket \(path) is served by user \(user)")
        }
        return socket
    }

    private static let superuser: UInt32 = 0
}

extension BridgeClientError {
    /// Why there is no link to the host at `path` any more.
    init(_ end: LinkEnd, at path: String) {
        let text =
            switch end {
            case .orderly(let goodbye): "the host at \(path) has ended the link: \(goodbye.text)"
            case .endOfStream, .closed: "the host at \(path) has gone"
            case .violation(let text): "the host at \(path) broke the protocol: \(text)"
            case .failed(let text): "the link to the host at \(path) failed: \(text)"
            }
        self.init(.linkEnded, text)
    }
}
