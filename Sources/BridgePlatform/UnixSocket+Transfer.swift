#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// The hot path: each function makes one system call, repeats it if a signal interrupts it, and allocates nothing
/// unless the list of a write's pieces is too long for the stack.
///
/// Nothing here gives the kernel a control buffer, so the kernel closes descriptors that a peer passes along, instead
/// of installing them in this process.
extension UnixSocket {
    /// Sends what fits now.
    ///
    /// A peer that is gone is an outcome and never a signal.
    package static func send(_ socket: CInt, _ bytes: UnsafeRawBufferPointer) -> IOOutcome {
        let count = retryingInterrupted { systemSend(socket, bytes.baseAddress, bytes.count, sendFlags) }
        return count >= 0 ? .transferred(count) : sendFailure(on: socket)
    }

    /// Sends what fits now of two buffers in a row, in one call.
    package static func send(
        _ socket: CInt,
        _ first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer
    ) -> IOOutcome {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { vectors in
            vectors.initializeElement(at: 0, to: iovec(reading: first))
            vectors.initializeElement(at: 1, to: iovec(reading: second))
            return send(socket, vectors: UnsafeBufferPointer(vectors))
        }
    }

    /// Sends what fits now of several pieces in a row, in one call that takes the first 1,024 of them.
    package static func send(_ socket: CInt, pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        if pieces.count == 1 { return send(socket, pieces[0]) }
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: pieces.count) { vectors in
            for (index, piece) in pieces.enumerated() {
                vectors.initializeElement(at: index, to: iovec(reading: piece))
            }
            return send(socket, vectors: UnsafeBufferPointer(vectors))
        }
    }

    /// Sends what fits now of many buffers in a row, in one call that takes the first 1,024 of them.
    package static func send(_ socket: CInt, vectors: UnsafeBufferPointer<iovec>) -> IOOutcome {
        var message = msghdr()
        message.msg_iov = UnsafeMutablePointer(mutating: vectors.baseAddress)
        message.msg_iovlen = .init(min(vectors.count, maximumVectorCount))
        let count = retryingInterrupted { sendmsg(socket, &message, sendFlags) }
        return count >= 0 ? .transferred(count) : sendFailure(on: socket)
    }

    /// Returns when there is something to receive, or the stream has ended.
    package static func waitUntilReadable(_ socket: CInt) { waitUntilReady(socket, for: POLLIN) }

    /// Receives what is there.
    ///
    /// A blocking call waits for the first byte. An empty buffer receives nothing and is never taken for the end of the
    /// stream.
    package static func receive(
        _ socket: CInt,
        into buffer: UnsafeMutableRawBufferPointer,
        blocking: Bool
    ) -> IOOutcome {
        if buffer.isEmpty { return .transferred(0) }
        let flags = blocking ? 0 : CInt(MSG_DONTWAIT)
        let count = retryingInterrupted { recv(socket, buffer.baseAddress, buffer.count, flags) }
        if count > 0 { return .transferred(count) }
        return count == 0 ? .endOfStream : receiveFailure(on: socket)
    }
}

/// IOV_MAX of Linux and of Darwin; the kernel refuses a longer list as a whole.
private let maximumVectorCount = 1024

#if canImport(Darwin)
/// Each socket made here has SO_NOSIGPIPE, because Darwin has no such flag for a single call.
private var sendFlags: CInt { MSG_DONTWAIT }
#else
private var sendFlags: CInt { CInt(MSG_DONTWAIT | MSG_NOSIGNAL) }
#endif

private func systemSend(_ socket: CInt, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: CInt) -> Int {
    send(socket, bytes, count, flags)
}

private func sendFailure(on socket: CInt) -> IOOutcome {
    let code = errno
    switch code {
    case EAGAIN, EWOULDBLOCK: return .wouldBlock
    case EPIPE, ECONNRESET: return .endOfStream
    default: return .failed(SystemError(code: code, operation: "sending on descriptor \(socket)"))
    }
}

/// What the receiving call that has just returned -1 means.
func receiveFailure(on socket: CInt) -> IOOutcome {
    let code = errno
    switch code {
    case EAGAIN, EWOULDBLOCK: return .wouldBlock
    case ECONNRESET: return .endOfStream
    default: return .failed(SystemError(code: code, operation: "receiving on descriptor \(socket)"))
    }
}

extension iovec {
    /// A vector for sending.
    ///
    /// The kernel only reads from it, though its type is shared with receiving.
    package init(reading bytes: UnsafeRawBufferPointer) {
        self.init(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
    }
}
