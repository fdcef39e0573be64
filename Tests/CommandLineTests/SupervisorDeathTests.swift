import BridgePlatform
import Foundation
import Locks
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("A supervisor that is killed")
struct SupervisorDeathTests {
    /// How long it may take until this is a failure.
    ///
    /// The promise is a second. On a busy machine it may be more: the test shows that the workers end although no
    /// process ends them.
    private static let patience: UInt64 = 120_000_000_000

    @Test("A13: leaves no worker behind, whatever the worker is at", .timeLimit(.minutes(5)))
    func noWorkerIsLeft() async throws {
        let workspace = try Workspace()
        // At rest, blocked in a handler, busy in a handler, deaf to every request to end, and with a full outbox.
        let misbehaviours = ["none", "hang", "spin", "ignore-sigterm", "burst"]
        let workers = misbehaviours.map { name in
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "\(name)"],
              subscribes: ["WorkRequested"], restart: "temporary", handshake: "4m", heartbeat: { every: "1m" } },
            """
        }
        try workspace.write("bridge.json5", "{ workers: [\n\(workers.joined(separator: "\n"))\n] }")
        let started = Started(count: misbehaviours.count)
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "-",
            input: #"{"type": "WorkRequested", "data": {"number": 1000000, "text": "begin"}}"# + "\n"
        ) { program, line in
            guard started.took(line) else { return }
            // The worker at rest is stopped: only a signal that acts on a stopped process can end it. The deaf worker
            // has asked for no signal at its parent's death.
            for pid in started.pids.prefix(1) { _ = kill(pid, SIGSTOP) }
            program.kill()
        }
        let died = MonotonicClock.now()
        #expect(result.status == .signaled(signal: SIGKILL, coreDumped: false))
        #expect(started.pids.count == misbehaviours.count)
        var alive = started.pids
        while !alive.isEmpty, MonotonicClock.now() < died + Self.patience {
            alive = alive.filter(Self.isAlive)
            await Task.yield()
        }
        #expect(alive.isEmpty)
        for pid in alive { _ = kill(pid, SIGKILL) }
    }

    /// Whether the process lives, and is not a zombie.
    private static func isAlive(_ pid: pid_t) -> Bool {
        guard kill(pid, 0) == 0 else { return false }
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return true }
        guard let end = status.lastIndex(of: ")") else { return true }
        let state = status[status.index(after: end)...].first { $0 != " " }
        return state != "Z" && state != "X"
    }
}

/// The workers that a supervisor has reported ready.
private final class Started: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private let count: Int
    private var found: [pid_t] = []

    init(count: Int) {
        self.count = count
    }

    var pids: [pid_t] { lock.withLock { found } }

    /// Takes a line of diagnostics; returns true when the line names the last of the workers.
    func took(_ line: String) -> Bool {
        guard line.contains("is ready"), let open = line.range(of: "(process "), let close = line.lastIndex(of: ")"),
            let pid = pid_t(line[open.upperBound..<close])
        else { return false }
        return lock.withLock {
            found.insert(pid, at: line.contains("\"none\"") ? 0 : found.count)
            return found.count == count
        }
    }
}
