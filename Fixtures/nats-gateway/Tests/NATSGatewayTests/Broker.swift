import Foundation
import Synchronization

/// A real nats-server with JetStream on a port and in a directory of its own.
final class Broker: Sendable {
    struct NotStarted: Error, CustomStringConvertible {
        let description: String
    }

    static let program = ["/usr/sbin/nats-server", "/usr/local/bin/nats-server", "/usr/bin/nats-server"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Whether there is a server; says so once if not.
    static let isInstalled: Bool = {
        if program == nil { print("not tested: the gateway with a broker, because nats-server is not installed") }
        return program != nil
    }()

    let port: Int
    let directory: String
    private let process = Mutex<Process?>(nil)

    var url: String { "nats://127.0.0.1:\(port)" }

    /// Reserves a port and a directory; nothing runs before ``start()``.
    init() throws {
        port = try Self.freePort()
        let name = "nats-gateway-tests-\(getpid())-\(port)"
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Starts the server and returns when it takes connections.
    func start() throws {
        let server = Process()
        let log = Pipe()
        server.executableURL = URL(fileURLWithPath: Self.program ?? "")
        let settings = directory + "/server.conf"
        try "listen: \"127.0.0.1:\(port)\"\njetstream { store_dir: \"\(directory)/store\" }\n"
            .write(toFile: settings, atomically: true, encoding: .utf8)
        server.arguments = ["--config", settings]
        server.standardError = log
        server.standardOutput = log
        try server.run()
        process.withLock { $0 = server }
        var said = Data()
        while !said.contains("Server is ready") {
            let more = log.fileHandleForReading.availableData
            guard !more.isEmpty else { throw NotStarted(description: String(decoding: said, as: UTF8.self)) }
            said += more
        }
        // What it says later has to go somewhere.
        log.fileHandleForReading.readabilityHandler = { if $0.availableData.isEmpty { $0.readabilityHandler = nil } }
    }

    /// Ends the server as a power cut would, but for what the kernel still writes.
    func kill() {
        guard let server = process.withLock({ $0.take() }) else { return }
        _ = Foundation.kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
    }

    /// Keeps the store as it is now; only while the server does not run.
    func saveStore() throws {
        try FileManager.default.copyItem(atPath: "\(directory)/store", toPath: "\(directory)/saved")
    }

    /// Puts the store back that was saved.
    func restoreStore() throws {
        try FileManager.default.removeItem(atPath: "\(directory)/store")
        try FileManager.default.moveItem(atPath: "\(directory)/saved", toPath: "\(directory)/store")
    }

    private static func freePort() throws -> Int {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 ? getsockname(socket, address, &length) : -1
            }
        }
        guard result == 0 else { throw NotStarted(description: "there is no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

extension Data {
    fileprivate func contains(_ text: String) -> Bool { range(of: Data(text.utf8)) != nil }
}
