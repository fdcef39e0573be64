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
/// On Darwin a second opening is the same open file. There a terminal or pipe is written to when it says that it has
/// room. It may have less room than the write takes, and then the write waits.
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

    private static func reopen(_ number: CInt) -> Way {
        #if os(Linux)
        let own = retryingInterrupted {
            open("/proc/self/fd/\(number)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        }
        return own < 0 ? .none : .reopened(SharedDescriptor(FileDescriptor(owning: own)))
        #else
        return .polled
        #endif
    }

    /// Writes as many bytes as the stream takes now.
    ///
    /// Call it on a thread of `PlatformThread`, in which SIGPIPE is blocked: if the reader is gone, nothing is written,
    /// and nothing else happens.
    /// - Returns: How many of the bytes were written.
    package func write(_ bytes: ArraySlice<UInt8>) -> Int {
        let count = bytes.withUnsafeBytes { bytes in
            switch way {
            case .none: 0
            case .plain: retryingInterrupted { systemWrite(number, bytes.baseAddress, bytes.count) }
            case .reopened(let own):
                own.withRawValue { own in retryingInterrupted { systemWrite(own, bytes.baseAddress, bytes.count) } }
            case .socket:
                retryingInterrupted { send(number, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT)) }
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

private func systemWrite(_ number: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(number, buffer, count)
}
