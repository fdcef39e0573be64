import BridgePlatform
import CBridgePlatform
import Locks
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A socket in the role of systemd: a thread takes the messages as they come.
final class Manager: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private let changed: Condition
    private var lines: [String] = []
    private let descriptor: FileDescriptor

    init(at path: String) throws {
        changed = Condition(lock: lock)
        let number = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        try #require(number >= 0)
        descriptor = FileDescriptor(owning: number)
        try #require(cbp_unix_bind(number, path) == 0)
    }

    /// Takes messages until the socket is shut down; `onLine` is called for each line of one.
    func listen(onLine: @escaping @Sendable (_ line: String) -> Void) throws -> PlatformThread {
        try PlatformThread.startJoinable(name: "manager") { [self] in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while case let count = recv(descriptor.rawValue, &buffer, buffer.count, 0), count > 0 {
                for line in String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init) {
                    lock.withLock {
                        lines.append(line)
                        changed.broadcast()
                    }
                    onLine(line)
                }
            }
        }
    }

    /// Ends the socket: only messages that have come are still taken.
    func end() { shutdown(descriptor.rawValue, CInt(SHUT_RDWR)) }

    /// Blocks the calling thread until `isMet` holds for the lines that have come.
    func wait(until isMet: ([String]) -> Bool) {
        lock.withLock {
            while !isMet(lines) { changed.wait() }
        }
    }

    var received: [String] { lock.withLock { lines } }
}
