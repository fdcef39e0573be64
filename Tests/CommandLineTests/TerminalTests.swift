import BridgePlatform
import Foundation
import Locks
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("A supervisor at a terminal")
struct TerminalTests {
    /// Gives a program a terminal, and types there what it reads itself.
    private static let script = "/usr/bin/script"

    @Test("B7: Ctrl-C reaches the supervisor only, which stops its workers in good order", .timeLimit(.minutes(5)))
    func interrupt() async throws {
        guard access(Self.script, X_OK) == 0 else {
            CurrentProcess.report("not tested: B7, as there is no \(Self.script) to give a program a terminal")
            return
        }
        let workspace = try Workspace()
        let sanitizer = CurrentProcess.environment("TSAN_OPTIONS") ?? ""
        let workers = ["a", "b"].map { name in
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "none"],
              environment: { TSAN_OPTIONS: "\(sanitizer)" }, handshake: "4m", heartbeat: { every: "1m" },
              shutdown: { grace: "4m" } },
            """
        }
        try workspace.write("bridge.json5", "{ workers: [\n\(workers.joined(separator: "\n"))\n] }")
        let poller = try Poller(name: "terminal")
        defer { poller.stop() }
        let keys = try FileDescriptor.pipe()
        let screen = try FileDescriptor.pipe()
        var request = SpawnRequest(executable: Self.script)
        let command = "exec '\(try SupervisorProgram.products())/supervisor' run bridge.json5"
        request.arguments = ["--quiet", "--return", "--flush", "--command", command, "/dev/null"]
        request.environment = ["PATH": "/usr/bin:/bin", "SHELL": "/bin/sh"]
        request.environment["TSAN_OPTIONS"] = CurrentProcess.environment("TSAN_OPTIONS")
        request.workingDirectory = workspace.path
        request.standardInput = .descriptor(keys.reading.rawValue)
        request.standardOutput = .descriptor(screen.writing.rawValue)
        let said = Said()
        let program = try ChildProcess.spawn(request)
        screen.writing.close()
        let keyboard = keys.writing.rawValue
        let watchdog = poller.schedule(after: 240_000_000_000) { _ = try? program.signal(SIGKILL) }
        let ending = Ending()
        _ = try LinePipe.capture(screen.reading, on: poller) { line in
            // Both are ready: a person presses Ctrl-C.
            if said.add(line.text) == 2 { CurrentProcess.writeAll("\u{3}", to: keyboard) }
        } onEnd: {
            ending.onePartEnded(nil)
        }
        try program.onExit(on: poller) { ending.onePartEnded($0.status) }
        let status = await ending.wait()
        watchdog.cancelWithoutWaiting()
        keys.writing.close()
        keys.reading.close()
        #expect(status == .exited(code: 0))
        let ended = said.lines.filter { $0.contains("as it was asked to") }
        #expect(ended.count == 2, "\(said.lines)")
        #expect(ended.allSatisfy { $0.contains("exited with status 0") })
    }
}

/// The lines that the supervisor has printed.
private final class Said: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var found: [String] = []

    var lines: [String] { lock.withLock { found } }

    /// - Returns: How many workers are ready, if the line says so of one.
    func add(_ line: String) -> Int? {
        lock.withLock {
            found.append(line)
            return line.contains("is ready") ? found.count { $0.contains("is ready") } : nil
        }
    }
}

/// Waits for the end of the process and of what it prints.
private final class Ending: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var parts = 2
    private var status: BridgePlatform.ExitStatus?
    private var continuation: CheckedContinuation<BridgePlatform.ExitStatus?, Never>?

    func wait() async -> BridgePlatform.ExitStatus? {
        await withCheckedContinuation { continuation in
            let isOver = lock.withLock {
                self.continuation = continuation
                return parts == 0
            }
            if isOver { resume() }
        }
    }

    func onePartEnded(_ status: BridgePlatform.ExitStatus?) {
        let isOver = lock.withLock {
            parts -= 1
            if let status { self.status = status }
            return parts == 0
        }
        if isOver { resume() }
    }

    private func resume() {
        let (waiting, status) = lock.withLock { (continuation.take(), self.status) }
        waiting?.resume(returning: status)
    }
}
