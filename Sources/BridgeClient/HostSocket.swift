import BridgePlatform
import BridgeProtocol
import BridgeTransport

/// The way to a host's control socket: to the right one, and without waiting.
enum HostSocket {
    /// Connects, if a host of this user listens there.
    static func connect(to path: String) throws(BridgeClientError) -> SharedDescriptor {
        let (socket, user): (SharedDescriptor, UInt32)
        do throws(SystemError) {
            socket = SharedDescriptor(try UnixSocket.connectWithoutWaiting(to: path))
            user = try UnixSocket.peerCredentials(of: socket.rawValue).user
        } catch {
            if error.isFullBacklog {
                throw BridgeClientError(
                    .crowded,
                    "more processes wait to attach at \(path) than the host lets wait: \(error)"
                )
            }
            throw BridgeClientError(.unreachable, "no host is to be had at \(path): \(error)")
        }
        // The events are for this user's host, and for nobody else who has put a socket there; the superuser can read them anyway.
        guard user == CurrentProcess.user || user == superuser else {
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
