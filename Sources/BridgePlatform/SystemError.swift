import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#else
#error("BridgePlatform knows Linux with glibc, and Darwin")
#endif

/// A call to the operating system that failed: the error number and what was being done.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The error number, as in `errno`.
    package let code: CInt

    /// What was being done, in words that stand before "failed": `spawn of /bin/ls`.
    package let operation: String

    package init(code: CInt, operation: String) {
        self.code = code
        self.operation = operation
    }

    /// The error of the call just made on this thread.
    ///
    /// `operation` is made into a string only after `errno` has been read: making the string may set `errno`.
    package static func current(_ operation: @autoclosure () -> String) -> SystemError {
        let code = errno
        return SystemError(code: code, operation: operation())
    }

    /// Whether descriptors or memory were short, a shortage that passes.
    package var isShortage: Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(code) }

    /// Whether a connection was refused because too many connections wait to be accepted.
    package var isFullBacklog: Bool { code == EAGAIN }

    /// Whether the file system is full, or this process may write no more there; both may pass.
    package var isFullDisk: Bool { Self.fullDisk.contains(code) }

    /// Whether the disk could not give back what lies in a part of a file.
    package var isUnreadable: Bool { [EIO, EBADMSG].contains(code) }

    /// Whether the system, or the file system, has no such thing.
    package var isUnsupported: Bool { code == ENOTSUP || code == EOPNOTSUPP }

    /// Whether there is no file of that name.
    package var isMissingFile: Bool { code == ENOENT }

    static let fullDisk = [ENOSPC, EDQUOT, EFBIG]

    /// A sentence such as `spawn of /x failed: No such file or directory (ENOENT)`.
    package var description: String {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            buffer.baseAddress.map { String(cString: cbp_errno_text(code, $0, buffer.count)) } ?? "Unknown error"
        }
        return "\(operation) failed: \(text) (\(Self.name(of: code)))"
    }

    /// The name of an error number, such as `ENOENT`.
    static func name(of code: CInt) -> String {
        cbp_errno_name(code).map { String(cString: $0) } ?? "errno \(code)"
    }

    /// Makes a call that returns -1 on failure, and makes it again for as long as signals interrupt it.
    @discardableResult
    package static func check<Value: FixedWidthInteger & SignedInteger>(
        _ operation: @autoclosure () -> String,
        _ call: () -> Value
    ) throws(SystemError) -> Value {
        let result = retryingInterrupted(call)
        if result == -1 { throw current(operation()) }
        return result
    }
}

/// Returns when a descriptor is ready for one of these events, or has ended; the call that follows says which.
///
/// - Parameter limit: how many milliseconds this waits at most, however many signals come; -1 for ever.
/// - Returns: False if the time was over first, or if the system could not wait.
@discardableResult
func waitUntilReady(_ descriptor: CInt, for events: CInt, milliseconds limit: CInt = -1) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    let start = MonotonicClock.now()
    return retryingInterrupted {
        let passed = CInt(clamping: (MonotonicClock.now() - start) / 1_000_000)
        return poll(&entry, 1, limit < 0 ? limit : max(0, limit - passed))
    } > 0
}

/// Makes a call again for as long as it returns -1 because a signal interrupted it.
package func retryingInterrupted<Value: FixedWidthInteger & SignedInteger>(_ call: () -> Value) -> Value {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}
