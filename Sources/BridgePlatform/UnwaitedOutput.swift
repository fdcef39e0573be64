#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A standard stream for a thread that writes to it and must not wait for its reader.
///
/// O_NONBLOCK belongs to the open file, which other processes may share, so it cannot be set here. A pipe or terminal
/// is opened a second time instead, a socket takes the flag with each call, and a file never makes a writer wait for a
/// reader.
///
/// Sometimes a pipe or terminal cannot be opened a second time: without `/proc`, or if it belongs to another user, as
/// after a start by `su` or `gosu`. On Darwin a second opening is the same open file. In these cases the stream is
/// written to only when it reports room. A write can still wait: at a terminal, whose room may be less than the write
/// needs, or if another process fills the pipe meanwhile.
package final class UnwaitedOutput: Sendable {
    private enum Way: Sendable {
        case plain
        case socket
        case polled
        case reopened(SharedDescriptor)
        case none
    }

    private let number: CInt
    private let way: Way

    /// - Parameter number: the descriptor, which stays as it is and is not closed.
    package init(_ number: CInt) {
        self.number = number
        var status = stat()
        guard fstat(number, &status) == 0 else {
            way = .none
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFSOCK: way = .socket
        case S_IFIFO, S_IFCHR: way = Self.reopen(number)
        default: way = .plain
        }
    }

    package static let standardErrorNumber = STDERR_FILENO

    /// Prints a line on standard error, as far as the stream takes the line without waiting.
    package static func sayOnStandardError(_ line: String) {
        _ = UnwaitedOutput(standardErrorNumber).write(Array("\(line)\n".utf8)[...])
    }

    private static func reopen(_ number: CInt) -> Way {
        #if os(Linux)
        let own = retryingInterrupted {
            open("/proc/self/fd/\(number)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        }
        return own < 0 ? .polled : .reopened(SharedDescriptor(FileDescriptor(owning: own)))
        #else
        return .polled
        #endif
    }

    /// Writes as many bytes as the stream takes now.
    ///
    /// If the reader is gone, nothing is written, and nothing else happens. Call this on a thread of `PlatformThread`,
    /// in which SIGPIPE is blocked; on another thread, a pipe without a reader causes that signal.
    /// - Returns: How many of the bytes were written.
    package func write(_ bytes: ArraySlice<UInt8>) -> Int {
        let count = bytes.withUnsafeBytes { bytes in
            switch way {
            case .none: 0
            case .plain: retryingInterrupted { systemWrite(number, bytes.baseAddress, bytes.count) }
            case .reopened(let own):
                own.withRawValue { own in retryingInterrupted { systemWrite(own, bytes.baseAddress, bytes.count) } }
            case .socket:
                retryingInterrupted { send(number, bytes.baseAddress, bytes.count, sendFlags) }
            case .polled:
                hasRoom
                    ? retryingInterrupted { systemWrite(number, bytes.baseAddress, min(bytes.count, Int(PIPE_BUF))) }
                    : 0
            }
        }
        return max(0, count)
    }

    private var hasRoom: Bool {
        var entry = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        return retryingInterrupted { poll(&entry, 1, 0) } == 1 && entry.revents == Int16(POLLOUT)
    }
}

/// MSG_NOSIGNAL is for a caller whose thread does not block SIGPIPE; Darwin has no such flag for a single call.
#if canImport(Darwin)
private var sendFlags: CInt { MSG_DONTWAIT }
#else
private var sendFlags: CInt { CInt(MSG_DONTWAIT | MSG_NOSIGNAL) }
#endif

private func systemWrite(_ number: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(number, buffer, count)
}
