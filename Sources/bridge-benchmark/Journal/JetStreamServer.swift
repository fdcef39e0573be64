import BridgePlatform

/// A nats-server that the benchmark starts, and whose JetStream synchronizes each message before acknowledging it.
///
/// The environment variable `NATS_SERVER` may name another program than the installed one.
final class JetStreamServer: Sendable {
    /// The port on the loopback address at which the server accepts clients.
    let port: String
    private let process: ChildProcess
    /// The server's output, open as long as the server runs.
    private let log: SystemFile

    private static let places = ["/usr/sbin/nats-server", "/usr/local/bin/nats-server", "/usr/bin/nats-server"]
    private static let listening = "Listening for client connections on 127.0.0.1:"
    private static let ready = "Server is ready"

    /// Starts a server whose files lie in `directory`, and returns when the server accepts clients.
    init(in directory: String) throws {
        let named = CurrentProcess.environment("NATS_SERVER").map { [$0] }
        guard let program = (named ?? Self.places).first(where: CurrentProcess.isExecutableFile) else {
            throw JetStreamError(named.map { "there is no program \($0[0])" } ?? "nats-server is not installed")
        }
        let file = directory + "/server.conf"
        // With port -1 the system chooses the port.
        let settings = """
            host: "127.0.0.1"
            port: -1
            jetstream { store_dir: "\(directory)/store", sync_interval: always }

            """
        try SystemFile.create(file).append(Array(settings.utf8))
        let pipe = try FileDescriptor.pipe()
        var request = SpawnRequest(executable: program)
        request.arguments = ["--config", file]
        request.standardOutput = .descriptor(pipe.writing.rawValue)
        request.standardError = .descriptor(pipe.writing.rawValue)
        request.diesWithParent = true
        process = try ChildProcess.spawn(request)
        // While this process holds the writing end, reading from the pipe would never end.
        pipe.writing.close()
        log = SystemFile(pipe.reading)
        var said = ""
        while !said.contains(Self.ready) {
            let more = try log.read(upTo: 1 << 12)
            guard !more.isEmpty else {
                _ = process.waitForExit()
                throw JetStreamError("nats-server says: \(said.split(separator: "\n").last ?? "nothing")")
            }
            said += String(decoding: more, as: UTF8.self)
        }
        guard let line = said.split(separator: "\n").first(where: { $0.contains(Self.listening) }),
            let port = line.split(separator: ":").last
        else {
            Self.end(process)
            throw JetStreamError("nats-server does not say at which port it listens")
        }
        self.port = String(port)
    }

    deinit { Self.end(process) }

    private static func end(_ process: ChildProcess) {
        _ = try? process.signal(OperatingSystem.kill)
        _ = process.waitForExit()
    }
}

/// Why JetStream is not measured.
struct JetStreamError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
