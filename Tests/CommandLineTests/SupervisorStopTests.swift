import BridgePlatform
import Testing

@Suite("A supervisor that is stopped and continued")
struct SupervisorStopTests {
    /// Far longer than a worker may be silent, which is longer than a worker waits for a processor.
    private static let stop = Duration.seconds(4)

    @Test("A11: takes none of its workers for dead, and they go on with their work", .timeLimit(.minutes(5)))
    func noWorkerIsReplaced() async throws {
        let workspace = try Workspace()
        let names = ["a", "b", "c", "d", "e", "f"]
        let workers = names.map { name in
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "slow:2s"],
              \(Workspace.workerEnvironment), subscribes: ["WorkRequested"], handshake: "4m",
              heartbeat: { every: "100ms", tolerance: 15 } },
            """
        }
        try workspace.write("bridge.json5", "{ workers: [\n\(workers.joined(separator: "\n"))\n] }")
        let started = Count()
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "-",
            "--exit-when-idle",
            waitsForInput: true
        ) { program, line in
            guard line.contains("is ready"), started.increment() == names.count else { return }
            Task {
                program.suspend()
                // The fault itself, not a wait for something: for so long the supervisor watches no worker.
                try await Task.sleep(for: Self.stop)
                program.resume()
                // The event keeps the workers busy for longer than they may be silent, so the test sees a worker that
                // is taken for dead and replaced.
                program.finishInput(#"{"type": "WorkRequested", "data": {"number": 1, "text": "go on"}}"# + "\n")
            }
        }
        #expect(result.status == .exited(code: 0))
        #expect(result.output.count { $0.contains("WorkDone") } == names.count)
        let ready = result.errors.filter { $0.contains("is ready") }
        #expect(ready.count == names.count, "\(result.errors)")
        let ended = result.errors.filter { $0.hasSuffix("as it was asked to") }
        #expect(Set(ready.compactMap(Self.process)) == Set(ended.compactMap(Self.process)))
        #expect(!result.errors.contains { $0.contains("gave no sign of life") })
    }

    /// `process 123` out of a line that has it in parentheses.
    private static func process(_ line: String) -> Substring? {
        guard let open = line.firstRange(of: "(process ") else { return nil }
        return line[open.upperBound...].prefix { $0.isNumber }
    }
}
