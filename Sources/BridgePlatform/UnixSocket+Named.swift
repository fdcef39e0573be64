import CBridgePlatform

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// Sockets with a name in the file system, step by step, for callers that look at the file system between the steps.
extension UnixSocket {
    /// A socket that is not connected.
    package static func unconnected() throws(SystemError) -> FileDescriptor { try create() }

    /// Creates a socket file at `path`, which must not exist; no process can connect before
    /// ``startListening(_:backlog:)``.
    ///
    /// Where the system allows it, the file is open to this user alone from the first moment.
    package static func bind(to path: String) throws(SystemError) -> FileDescriptor {
        try checkPath(path)
        let socket = try create()
        // The socket has no file yet; only Linux accepts this call for such a socket.
        _ = fchmod(socket.rawValue, 0o600)
        try SystemError.check("binding a socket to \(path)") { cbp_unix_bind(socket.rawValue, path) }
        return socket
    }

    /// Lets `backlog` connections wait to be accepted.
    package static func startListening(_ socket: CInt, backlog: CInt) throws(SystemError) {
        try SystemError.check("listening on descriptor \(socket)") { listenOn(socket, backlog) }
    }

    /// Connects a socket made by ``unconnected()``.
    package static func connect(_ socket: CInt, to path: String) throws(SystemError) {
        try checkPath(path)
        // If a signal interrupts the connecting of a Unix socket, no connection has begun; the call may be repeated.
        try SystemError.check("connecting to \(path)") { cbp_unix_connect(socket, path) }
    }

    /// Connects to the socket file at `path`, or fails with EAGAIN where so many connections wait to be accepted that
    /// this one would have to wait too.
    package static func connectWithoutWaiting(to path: String) throws(SystemError) -> FileDescriptor {
        let socket = try create()
        try FileDescriptor.setBlocking(socket.rawValue, false)
        try connect(socket.rawValue, to: path)
        try FileDescriptor.setBlocking(socket.rawValue, true)
        return socket
    }

    /// Which process listens at a path.
    package enum Listener: Equatable, Sendable {
        case noListener
        /// The process's number; nil where it is not known.
        case process(pid_t?)
    }

    /// Checks whether a process accepts connections at `path`, without waiting for it to do so.
    package static func listener(at path: String) throws(SystemError) -> Listener {
        try checkPath(path)
        let socket = try create()
        try FileDescriptor.setNonBlocking(socket.rawValue)
        if retryingInterrupted({ cbp_unix_connect(socket.rawValue, path) }) == 0 {
            return .process(try? peerCredentials(of: socket.rawValue).processIdentifier)
        }
        let error = SystemError.current("connecting to \(path)")
        switch error.code {
        case ECONNREFUSED, ENOENT: return .noListener
        // The listener's backlog is full.
        case EAGAIN: return .process(nil)
        default: throw error
        }
    }
}

extension UnixSocket {
    /// Says what `receive` would find, without receiving: `.transferred(1)` for a byte, or why there is none now.
    package static func peek(_ socket: CInt) -> IOOutcome {
        var byte: UInt8 = 0
        let count = retryingInterrupted { recv(socket, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT)) }
        return count > 0 ? .transferred(1) : count == 0 ? .endOfStream : receiveFailure(on: socket)
    }

    /// Waits for bytes and receives them, and says whether the peer has passed descriptors along with them.
    ///
    /// The descriptors are not installed in this process: the kernel closes them.
    package static func receiveNoticingDescriptors(
        _ socket: CInt,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> IOOutcome {
        if buffer.isEmpty { return .transferred(0) }
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: 1) { vectors in
            vectors.initializeElement(at: 0, to: iovec(iov_base: buffer.baseAddress, iov_len: buffer.count))
            var message = msghdr()
            message.msg_iov = vectors.baseAddress
            message.msg_iovlen = 1
            let count = retryingInterrupted { recvmsg(socket, &message, 0) }
            if count >= 0, message.msg_flags & CInt(MSG_CTRUNC) != 0 { return .descriptorsPassed }
            return count > 0 ? .transferred(count) : count == 0 ? .endOfStream : receiveFailure(on: socket)
        }
    }
}
