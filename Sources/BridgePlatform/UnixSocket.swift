import CBridgePlatform

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// Stream sockets between processes of one machine: how they are made, found and ended.
///
/// All descriptors made here are close-on-exec. `UnixSocket+Transfer.swift` moves bytes through them.
package enum UnixSocket {
    /// The process at the other end, as the kernel noted it when the connection was made.
    package struct PeerCredentials: Equatable, Sendable {
        /// The process's number, a hint only: the process may be gone and its number used again.
        package let processIdentifier: pid_t
        package let user: uid_t
        package let group: gid_t

        package init(processIdentifier: pid_t, user: uid_t, group: gid_t) {
            self.processIdentifier = processIdentifier
            self.user = user
            self.group = group
        }
    }

    /// The longest path in bytes that an address can hold: 107 on Linux, 103 on Darwin.
    package static var maximumPathLength: Int { cbp_unix_path_limit() }

    /// Two sockets connected to each other.
    package static func pair() throws(SystemError) -> Pair {
        let ends = try FileDescriptor.makePair("making a pair of sockets", cbp_unix_socketpair)
        return Pair(first: FileDescriptor(owning: ends.0), second: FileDescriptor(owning: ends.1))
    }

    /// The two ends of a connection that one call has made; the ends are alike.
    @frozen @usableFromInline
    package struct Pair: ~Copyable, Sendable {
        package let first: FileDescriptor
        package let second: FileDescriptor
    }

    /// Creates a socket file at `path`, which must not exist, and listens there.
    package static func listen(at path: String, backlog: CInt = 128) throws(SystemError) -> FileDescriptor {
        let socket = try bind(to: path)
        try startListening(socket.rawValue, backlog: backlog)
        return socket
    }

    package static func connect(to path: String) throws(SystemError) -> FileDescriptor {
        let socket = try create()
        try connect(socket.rawValue, to: path)
        return socket
    }

    /// Takes one waiting connection.
    ///
    /// - Returns: `nil` when no connection waits at a non-blocking listener, or the connection that waited has gone.
    package static func accept(from listener: CInt) throws(SystemError) -> FileDescriptor? {
        let connection = retryingInterrupted { cbp_accept(listener) }
        if connection >= 0 { return FileDescriptor(owning: connection) }
        let error = SystemError.current("accepting a connection on descriptor \(listener)")
        if error.code == EAGAIN || error.code == EWOULDBLOCK || error.code == ECONNABORTED { return nil }
        throw error
    }

    package static func peerCredentials(of socket: CInt) throws(SystemError) -> PeerCredentials {
        var process: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
        try SystemError.check("reading the peer's credentials on descriptor \(socket)") {
            cbp_peer_credentials(socket, &process, &user, &group)
        }
        return PeerCredentials(processIdentifier: process, user: user, group: group)
    }

    /// Sends no more: the peer reads what is on its way and then the end of the stream.
    ///
    /// - Returns: `false` if the system refuses, as Darwin does when the connection has ended already.
    @discardableResult
    package static func shutdownWrite(_ socket: CInt) -> Bool {
        shutdown(socket, CInt(SHUT_WR)) == 0
    }

    /// Lets nothing more arrive: what has arrived can still be received, and then comes the end.
    @discardableResult
    package static func shutdownRead(_ socket: CInt) -> Bool {
        shutdown(socket, CInt(SHUT_RD)) == 0
    }

    /// Ends the connection in both directions and wakes the threads that wait in it; the number stays taken.
    ///
    /// - Returns: `false` if the system refuses, as Darwin does when the connection has ended already.
    @discardableResult
    package static func shutdownBoth(_ socket: CInt) -> Bool {
        shutdown(socket, CInt(SHUT_RDWR)) == 0
    }

    static func create() throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try SystemError.check("making a socket") { cbp_unix_socket() })
    }

    static func checkPath(_ path: String) throws(SystemError) {
        let length = path.utf8.count
        if length > maximumPathLength {
            let name = "using the socket path \(path) of \(length) bytes, where \(maximumPathLength) are allowed,"
            throw SystemError(code: ENAMETOOLONG, operation: name)
        }
        // An empty path binds to a name that the caller did not choose, and a path with a NUL would be cut there.
        if path.isEmpty || path.utf8.contains(0) {
            throw SystemError(code: EINVAL, operation: "using a socket path that is empty or contains NUL")
        }
    }
}

func listenOn(_ socket: CInt, _ backlog: CInt) -> CInt {
    listen(socket, backlog)
}
