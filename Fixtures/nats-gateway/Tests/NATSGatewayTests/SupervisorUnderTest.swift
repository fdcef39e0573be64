import Foundation

/// A `supervisor` in a process of its own, with a gateway as its worker; its events have numbers.
final class SupervisorUnderTest: Sendable {
    struct Output: Sendable {
        /// The gateway's process, unless this test has killed it.
        var gateway: pid_t?
        /// The numbers of the events that passed, in the order of their arrival.
        var numbers: [Int] = []
        /// The attempts of these events.
        var attempts: [Int] = []
        /// All identities that the events with a number had.
        var identities: [Int: Set<String>] = [:]
        /// How many times the supervisor has replaced the gateway because of a new configuration.
        var reloads = 0
        /// All other lines of its output.
        var lines: [String] = []
        /// Whether the supervisor has ended.
        var hasEnded = false
    }

    let output = Changing(Output())
    private let identifier: pid_t
    private let program: URL
    private let file: String
    private let journal: String
    private let control: String
    /// The configuration with this number in it, so that no two are equal.
    private let configuration: @Sendable (Int) -> String

    /// Writes the configuration and starts the supervisor.
    ///
    /// - Parameters:
    ///   - input: the path of a file with events to publish.
    ///   - subscribes: the events that the gateway gets; by default `Counted` if there is an input, otherwise none.
    ///   - others: further workers, in the configuration's syntax.
    ///   - trusted: the file with the certificate that the gateway trusts, if it is not one of the system's.
    ///   - hasJournal: whether the supervisor keeps the events, and so the gateway's bookmarks, in a journal; then it
    ///     also has a control socket, for replays.
    init(
        _ name: String,
        gateway arguments: [String],
        in directory: String,
        input: String? = nil,
        subscribes: [String]? = nil,
        others: String = "",
        trusted: String? = nil,
        hasJournal: Bool = false
    ) throws {
        let programs = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            .deletingLastPathComponent()
        let list = arguments.map { "\"\($0)\"" }.joined(separator: ", ")
        let names = subscribes ?? (input == nil ? [] : ["Counted"])
        let exports = names.map { "\"\($0)\"" }.joined(separator: ", ")
        journal = "\(directory)/\(name)-journal"
        control = "\(directory)/\(name)-run/s"
        let kept =
            hasJournal ? #"control: "\#(control)", journal: { directory: "\#(journal)", events: ["Counted"] },"# : ""
        let trust = trusted.map { "SSL_CERT_FILE: \"\($0)\", " } ?? ""
        // The intensity allows so many restarts that this test's kills are no reason to give the gateway up.
        let configuration: @Sendable (Int) -> String = {
            """
            { intensity: { restarts: 10000, within: "1s" },
              \(kept) workers: [{
                name: "gateway", executable: "nats-gateway", arguments: [\(list)],
                subscribes: [\(exports)], backoff: { initial: "1ms", maximum: "10ms" },
                limits: { strikes: "never" }, mayImport: true,
                environment: { \(trust)CONFIGURATION: "\($0)" },
            }, \(others)] }
            """
        }
        self.configuration = configuration
        file = "\(directory)/\(name).json"
        try configuration(1).write(toFile: file, atomically: true, encoding: .utf8)
        let process = Process()
        program = programs.appendingPathComponent("supervisor")
        process.executableURL = program
        process.arguments = ["run", file, "--format", "json"] + (input.map { ["--input", $0] } ?? [])
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        identifier = process.processIdentifier
        let rest = Changing<[UInt8]>([])
        pipe.fileHandleForReading.readabilityHandler = { [output] handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
                output.change { ($0.gateway, $0.hasEnded) = (nil, true) }
                return
            }
            // The handler's calls come one after the other.
            let lines = (rest.value + data).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            rest.change { $0 = Array(lines.last ?? []) }
            output.change { for line in lines.dropLast() { $0.read(String(decoding: line, as: UTF8.self)) } }
        }
    }

    deinit { kill(identifier, SIGTERM) }

    /// Writes the configuration with this number, and returns when the supervisor has replaced the gateway.
    func replaceGateway(_ number: Int) async throws {
        try configuration(number).write(toFile: file, atomically: true, encoding: .utf8)
        kill(identifier, SIGHUP)
        await output.wait { $0.reloads == number - 1 || $0.hasEnded }
    }

    /// Sends all events of the journal to the gateway again, and returns the command's status.
    func replayJournal() async throws -> Int32? {
        let status = Changing<Int32?>(nil)
        let replay = Process()
        replay.executableURL = program
        replay.arguments = ["journal", "replay", journal, "--to", "gateway", "--control", control]
        replay.terminationHandler = { process in status.change { $0 = process.terminationStatus } }
        try replay.run()
        await status.wait { $0 != nil }
        return status.value
    }

    /// Kills the gateway, once it has become ready after the last kill.
    func killGateway() async {
        await output.wait { $0.gateway != nil || $0.hasEnded }
        let gateway = output.value.gateway
        // The process is forgotten before the kill, because the next process may be ready at once.
        output.change { $0.gateway = nil }
        if let gateway { kill(gateway, SIGKILL) }
    }
}

extension SupervisorUnderTest.Output {
    fileprivate mutating func read(_ line: String) {
        if let event = try? JSONDecoder().decode(Event.self, from: Data(line.utf8)) {
            numbers.append(event.data.number)
            attempts.append(event.attempt)
            identities[event.data.number, default: []].insert(event.id)
            return
        }
        lines.append(line)
        if line.contains("the configuration was read again: replaced \"gateway\"") { reloads += 1 }
        guard let range = line.range(of: "\"gateway\" is ready (process ") else { return }
        gateway = pid_t(line[range.upperBound...].prefix { $0.isNumber })
    }

    private struct Event: Decodable {
        let id: String
        let attempt: Int
        let data: Content

        struct Content: Decodable {
            let number: Int
        }
    }
}
