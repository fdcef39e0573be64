import BridgePlatform
import CBridgePlatform
import TestSupport
import Testing

@testable import supervisor

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A socket in the role of systemd, which takes messages only when a test asks for them.
final class NotifySocket: Sendable {
    let path: String
    private let directory: PrivateDirectory
    private let descriptor: FileDescriptor

    init() throws {
        directory = try PrivateDirectory.make(named: "notify-socket")
        path = "\(directory.path)/notify"
        let number = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        try #require(number >= 0)
        descriptor = FileDescriptor(owning: number)
        try #require(cbp_unix_bind(number, path) == 0)
    }

    deinit {
        unlink(path)
        directory.remove()
    }

    /// Starts to report to this socket.
    ///
    /// - Parameter failures: gets the first failure.
    func told(by look: @escaping ServiceManager.Look, failures: Collected<SystemError>) throws -> ServiceManager {
        let service = try ServiceManager(
            environment: { [path] in $0 == "NOTIFY_SOCKET" ? path : nil },
            look: look,
            onFailure: { failures.add($0) }
        )
        return try #require(service)
    }

    /// Sends messages until the socket has no room for another.
    func fill() throws {
        let socket = try #require(ServiceSocket(name: path))
        do throws(SystemError) {
            while true { try socket.send("X=1") }
        } catch {
            #expect(error.code == EAGAIN, "\(error)")
        }
    }

    /// Takes all messages that have come.
    @discardableResult
    func takeAll() -> [String] {
        var messages: [String] = []
        while let message = take(CInt(MSG_DONTWAIT)) { messages.append(message) }
        return messages
    }

    /// Takes messages as they come, until the socket is ended.
    func takeEach(_ body: @escaping @Sendable (String) -> Void) throws -> PlatformThread {
        try PlatformThread.startJoinable(name: "manager") { [self] in
            while let message = take(0) { body(message) }
        }
    }

    /// Ends the socket: only messages that have come are still taken.
    func end() { shutdown(descriptor.rawValue, CInt(SHUT_RDWR)) }

    /// - Returns: One whole message, even if it is longer than systemd takes; nil if there is none.
    private func take(_ flags: CInt) -> String? {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor.rawValue, &buffer, buffer.count, flags)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
