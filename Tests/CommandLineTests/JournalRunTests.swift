import BridgePlatform
import Locks
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// `supervisor run` with a journal, killed and read.
@Suite("supervisor run, with a journal")
struct JournalRunTests {
    private static func configuration(_ journal: String) -> String {
        """
        { control: "run/s", journal: { directory: "kept", \(journal) }, workers: [
            { name: "worker", executable: "faulty-worker", arguments: ["--misbehave", "none"],
              subscribes: ["WorkRequested"], \(Workspace.workerEnvironment),
              handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } },
        ] }
        """
    }

    private static func work(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { #"{"type": "WorkRequested", "data": {"number": \#($0), "text": "t\#($0)"}}"# + "\n" }.joined()
    }

    /// The numbers of the requests that the journal has, and the names of its other events.
    private func kept(_ workspace: Workspace) async throws -> (numbers: [Int], others: Set<String>) {
        let result = try await workspace.run("journal", "show", "kept", "--limit", "100000", "--json")
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        var numbers: [Int] = []
        var others: Set<String> = []
        for line in result.output {
            guard let name = line.firstRange(of: "\"type\":\"").map({ line[$0.upperBound...].prefix { $0 != "\"" } })
            else { continue }
            if name == "WorkRequested", let range = line.firstRange(of: "\"number\":") {
                numbers.append(Int(line[range.upperBound...].prefix { $0.isNumber }) ?? 0)
            } else {
                others.insert(String(name))
            }
        }
        return (numbers, others)
    }

    @Test(
        "events of the named kinds, and no others, are kept by a supervisor that is killed, each once and in order",
        .timeLimit(.minutes(5))
    )
    func killed() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(#"events: ["WorkRequested"]"#))
        var last = 0
        for round in 1...3 {
            let shown = last + 40 * round
            try workspace.write("in.jsonl", Self.work(last + 1...last + 1_000))
            let result = try await workspace.run(
                "run",
                "bridge.json5",
                "--input",
                "in.jsonl",
                onOutput: { program, line in
                    if line.contains("WorkRequested"), line.contains("\"t\(shown)\"") { program.kill() }
                }
            )
            #expect(result.status == .signaled(signal: SIGKILL, coreDumped: false))
            let (numbers, others) = try await kept(workspace)
            // An event is shown before it is recorded, and at most one is under way.
            #expect(numbers.count >= shown - 1 && others.isEmpty)
            #expect(numbers == Array(1...numbers.count))
            last = numbers.count
        }
        let list = try await workspace.run("journal", "list", "kept")
        #expect(list.output.count == 1 + 3)
        let verdict = try await workspace.run("journal", "verify", "kept")
        #expect(verdict.status == .exited(code: 0), "\(verdict.output)")
    }

    @Test("status and metrics show the journal, and a reload says what it cannot change", .timeLimit(.minutes(5)))
    func shown() async throws {
        let workspace = try Workspace()
        let settings = #"events: ["WorkRequested", "WorkDone"], durability: "machine", within: "1ms", bytes: "64MiB""#
        try workspace.write("bridge.json5", Self.configuration(settings))
        try workspace.write("in.jsonl", Self.work(1...50))
        let result = try await workspace.run("check", "bridge.json5")
        #expect(result.output == ["bridge.json5: 1 worker, configuration is right"])
        let shown = Shown()
        let run = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "in.jsonl",
            onOutput: { program, line in
                guard line.contains("WorkDone"), line.contains("\"t50\"") else { return }
                Task {
                    let status = try await workspace.run("status", "--control", "run/s")
                    let metrics = try await workspace.run("metrics", "--control", "run/s")
                    try workspace.write("bridge.json5", Self.configuration(#"events: ["WorkDone"]"#))
                    let reload = try await workspace.run("reload", "--control", "run/s")
                    shown.set(status.output, metrics.output, reload.errors + reload.output)
                    program.terminate()
                }
            }
        )
        #expect(run.status == .exited(code: 0))
        let (status, metrics, reload) = shown.all
        #expect(status.contains { $0.hasPrefix("journal, position 100, ") }, "\(status)")
        #expect(metrics.contains("event_bridge_journal_last_position 100"))
        #expect(metrics.contains("event_bridge_journal_failed 0"))
        #expect(metrics.contains { $0.hasPrefix("event_bridge_journal_bytes ") })
        #expect(reload.contains { $0.contains("journal: it cannot change while the workers run") }, "\(reload)")
        #expect(try await kept(workspace).others == ["WorkDone"])
    }

    @Test("a journal that cannot be opened ends the run before a worker starts, and check notes it")
    func unsuitable() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(#"events: ["WorkRequested"]"#))
        mkdir("\(workspace.path)/kept", 0o755)
        let check = try await workspace.run("check", "bridge.json5")
        #expect(check.status == .exited(code: 0))
        #expect(check.output.last?.contains("other users have permissions in the directory") == true)
        let run = try await workspace.run("run", "bridge.json5")
        #expect(run.status == .exited(code: 71))
        #expect(run.errors.count == 1 && run.errors[0].contains("other users have permissions in the directory"))
        try workspace.write("bridge.json5", Self.configuration(#"events: ["WorkerExited"]"#))
        for command in ["check", "run"] {
            let result = try await workspace.run(command, "bridge.json5")
            #expect(result.status == .exited(code: 78))
            #expect(
                (result.errors + result.output).contains { $0.contains("WorkerExited is a report about the bridge") }
            )
        }
    }
}

/// What the commands have printed.
private final class Shown: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var lines: ([String], [String], [String]) = ([], [], [])

    var all: ([String], [String], [String]) { lock.withLock { lines } }

    func set(_ status: [String], _ metrics: [String], _ reload: [String]) {
        lock.withLock { lines = (status, metrics, reload) }
    }
}
