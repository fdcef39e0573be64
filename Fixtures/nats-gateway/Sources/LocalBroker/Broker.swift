public import Foundation
import Synchronization

/// A real nats-server with JetStream on a port and in a directory of its own, for tests and measurements.
///
/// `NATS_SERVER` names a program other than the installed one.
public final class Broker: Sendable {
    /// Why a server does not run.
    public struct NotStarted: Error, CustomStringConvertible {
        /// A sentence, or what the server said.
        public let description: String
    }

    private static let program =
        (ProcessInfo.processInfo.environment["NATS_SERVER"].map { [$0] }
        ?? ["/usr/sbin/nats-server", "/usr/local/bin/nats-server", "/usr/bin/nats-server"])
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Whether there is a server; prints once that there is none.
    public static let isInstalled: Bool = {
        if program == nil { print("not tested: the gateway with a broker, because nats-server is not installed") }
        return program != nil
    }()

    /// The path of the program that makes certificates.
    private static let certifier = "/usr/bin/openssl"

    /// Whether a server can encrypt.
    public static var canEncrypt: Bool { FileManager.default.isExecutableFile(atPath: certifier) }

    /// The port of the loopback address at which the server takes clients.
    public let port: Int
    /// The server's directory, where a test may put files of its own.
    public let directory: String
    /// The file with the server's certificate, which clients have to trust; nil if the server does not encrypt.
    public let certificate: String?
    private let process = Mutex<Process?>(nil)

    /// The server's address for a client.
    public var url: String { "\(certificate == nil ? "nats" : "tls")://127.0.0.1:\(port)" }

    /// The server's process; nil while the server does not run.
    public var identifier: pid_t? { process.withLock { $0?.processIdentifier } }

    /// Reserves a port and a directory; nothing runs before ``start()``.
    ///
    /// - Parameter encrypts: whether the server takes connections with TLS only.
    public init(encrypts: Bool = false) throws {
        port = try Self.freePort()
        let name = "nats-gateway-\(getpid())-\(port)"
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        certificate = encrypts ? directory + "/certificate.pem" : nil
        if let certificate { try Self.makeCertificate(certificate, key: key) }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Starts the server and returns when it takes connections.
    public func start() throws {
        let server = Process()
        let log = Pipe()
        server.executableURL = URL(fileURLWithPath: Self.program ?? "")
        let file = directory + "/server.conf"
        let encryption = certificate.map { "tls { cert_file: \"\($0)\", key_file: \"\(key)\" }\n" } ?? ""
        try "listen: \"127.0.0.1:\(port)\"\njetstream { store_dir: \"\(directory)/store\" }\n\(encryption)"
            .write(toFile: file, atomically: true, encoding: .utf8)
        server.arguments = ["--config", file]
        server.standardError = log
        server.standardOutput = log
        try server.run()
        process.withLock { $0 = server }
        var said = Data()
        while said.range(of: Data("Server is ready".utf8)) == nil {
            let more = log.fileHandleForReading.availableData
            guard !more.isEmpty else { throw NotStarted(description: String(decoding: said, as: UTF8.self)) }
            said += more
        }
        // The handler reads what the server says later, because a full pipe would block the server.
        log.fileHandleForReading.readabilityHandler = { if $0.availableData.isEmpty { $0.readabilityHandler = nil } }
    }

    private var key: String { directory + "/key.pem" }

    private static func makeCertificate(_ certificate: String, key: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: certifier)
        process.arguments = [
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw NotStarted(description: "\(certifier) made no certificate: status \(process.terminationStatus)")
        }
    }

    /// Ends the server as a power cut would, except that the kernel still writes what the server gave it.
    public func kill() {
        guard let server = process.withLock({ $0.take() }) else { return }
        _ = Foundation.kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
    }

    /// Saves a copy of the store; only while the server does not run.
    public func saveStore() throws {
        try FileManager.default.copyItem(atPath: "\(directory)/store", toPath: "\(directory)/saved")
    }

    /// Replaces the store by the saved copy; only while the server does not run.
    public func restoreStore() throws {
        try removeStore()
        try FileManager.default.moveItem(atPath: "\(directory)/saved", toPath: "\(directory)/store")
    }

    /// Removes the store; only while the server does not run.
    public func removeStore() throws { try FileManager.default.removeItem(atPath: "\(directory)/store") }

    /// A port of the loopback address that no process uses now.
    public static func freePort() throws -> Int {
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
