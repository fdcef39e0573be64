/// What a listener reports: which connections it has sent away, and what has happened to its socket.
package struct SocketReport: Sendable, Equatable, CustomStringConvertible {
    package enum Matter: Sendable, Hashable {
        /// A process of another user connected and was sent away before anything of it was read.
        case otherUser(UInt32)
        /// A connection came from a worker, which may not attach, or from a process that a worker has started.
        case worker(String)
        /// No hello came in time.
        case silent
        /// Too many connections had said no hello.
        case crowded
        /// There was no descriptor or no memory for a connection.
        case shortage(String)
        /// The socket's file was gone, and was made again.
        case recreated
        /// The socket's file is missing or was replaced, and cannot be made again.
        case amiss(String)
    }

    package let matter: Matter
    /// How often the matter has come up since it was last reported.
    package let count: Int
    package let path: String

    package var description: String {
        let connections = count == 1 ? "a connection" : "\(count) connections"
        return switch matter {
        case .otherUser(let user): "\(connections) to \(path) came from user \(user) and \(verb) closed"
        case .worker(let name):
            "\(connections) to \(path) came from worker \"\(name)\", which may not control its host, and \(verb) refused"
        case .silent: "\(connections) to \(path) said no hello in time and \(verb) closed"
        case .crowded: "\(connections) to \(path) \(verb) closed to make room for newer ones: too many said no hello"
        case .shortage(let error):
            "\(path) takes no connections for a moment\(count == 1 ? "" : ", \(count) times now"): \(error)"
        case .recreated: "the socket \(path) had been removed and was made again"
        case .amiss(let reason): "the socket's file is missing or was replaced: \(reason)"
        }
    }

    private var verb: String { count == 1 ? "was" : "were" }
}
