import BridgePlatform
import Foundation

/// A directory for one test, with the files that it writes; removed afterwards.
final class Workspace: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/supervisor-\(randomUInt64())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file and returns its name.
    @discardableResult
    func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return name
    }

    /// Writes a program and returns its path.
    func program(_ name: String, _ text: String) throws -> String {
        try write(name, text)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(path)/\(name)")
        return "\(path)/\(name)"
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
    }

    func run(
        _ arguments: String...,
        input: String = "",
        waitsForInput: Bool = false,
        readsOutput: Bool = true,
        onError: @escaping @Sendable (SupervisorProgram, String) -> Void = { _, _ in },
        onOutput: @escaping @Sendable (SupervisorProgram, String) -> Void = { _, _ in }
    ) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(
            arguments,
            in: path,
            input: input,
            waitsForInput: waitsForInput,
            readsOutput: readsOutput,
            onError: onError,
            onOutput: onOutput
        )
    }

    /// Starts `supervisor` here, beside others.
    func start(_ arguments: String..., readsOutput: Bool = true) -> RunningProgram {
        RunningProgram(arguments, in: path, readsOutput: readsOutput)
    }

    /// Starts `supervisor` here at a terminal of its own.
    func startAtTerminal(
        _ arguments: String...,
        columns: Int = 200,
        environment: [String: String] = [:]
    ) throws -> RunningProgram {
        try RunningProgram.atTerminal(arguments, columns: columns, in: path, environment: environment)
    }

    /// The environment of workers in a configuration.
    static let workerEnvironment = workerEnvironment()

    /// The environment of workers in a configuration, with more variables, such as `ROUND: "1",`.
    ///
    /// It passes on the sanitizer's options, so that a race in a worker ends it and is seen, and its end has no pause.
    /// It turns off crash reports, which would take longer than a test.
    static func workerEnvironment(with more: String = "") -> String {
        let sanitizer = CurrentProcess.environment("TSAN_OPTIONS") ?? ""
        return #"environment: { \#(more) SWIFT_BACKTRACE: "enable=no", TSAN_OPTIONS: "\#(sanitizer)" }"#
    }

    /// A configuration with a control socket, `run/s`, and a worker that answers WorkRequested with WorkDone.
    ///
    /// A slow or busy machine must miss none of its deadlines.
    static func bridge(_ misbehaviour: String = "none", workers: [String] = ["worker"]) -> String {
        let workers = workers.map { name in
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "\(misbehaviour)"],
              subscribes: ["WorkRequested"], \(workerEnvironment),
              handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } },
            """
        }
        return "{ control: \"run/s\", workers: [\n\(workers.joined(separator: "\n"))\n] }"
    }

    /// The text of a file that comes with the package.
    static func fixture(_ name: String) throws -> String {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = package.deletingLastPathComponent().appendingPathComponent("Fixtures/\(name)")
        return String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }
}
