import BridgePlatform
import Locks
import Testing

@Suite("supervisor run, when it is asked to stop")
struct StopTests {
    private func configuration(_ misbehaviour: String) -> String {
        let workers = ["first", "second"].map { name in
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "\(misbehaviour)"],
              subscribes: ["WorkRequested"], \(Workspace.workerEnvironment),
              handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } }
            """
        }
        return "{ startOrder: \"in-sequence\", workers: [\(workers.joined(separator: ",\n"))] }"
    }

    private func work(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { #"{"type": "WorkRequested", "data": {"number": \#($0), "text": "t\#($0)"}}"# + "\n" }.joined()
    }

    /// Whether this line reports the event with this number, which the workers get at this moment.
    private func isRequest(_ number: Int, _ line: String) -> Bool {
        line.contains("WorkRequested") && line.contains("\"t\(number)\"")
    }

    @Test(
        "A18: SIGTERM under load: what was taken is handled, the workers stop in reverse order, and the status is 0",
        .timeLimit(.minutes(5))
    )
    func underLoad() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration("none"))
        try workspace.write("in.jsonl", work(1...600))
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "in.jsonl",
            onOutput: { program, line in if isRequest(150, line) { program.terminate() } }
        )
        #expect(result.status == .exited(code: 0))
        // At least the event that the signal has followed.
        let taken = result.output.count { $0.contains("WorkRequested") }
        #expect((150...600).contains(taken))
        #expect(result.output.count { $0.contains("WorkDone") } == 2 * taken)
        let ends = result.errors.filter { $0.hasSuffix("exited with status 0, as it was asked to") }
        #expect(ends.map { $0.contains("\"second\"") } == [true, false])
    }

    @Test("A18: the second SIGTERM does not wait for what never ends", .timeLimit(.minutes(5)))
    func secondShortens() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration("hang-on:t1"))
        try workspace.write("in.jsonl", work(1...1))
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "in.jsonl",
            onError: { program, line in
                guard line.contains("stopping: ") else { return }
                Task {
                    // Otherwise the second signal would be taken for an echo of the first.
                    try await Task.sleep(for: .milliseconds(200))
                    program.terminate()
                }
            },
            onOutput: { program, line in if isRequest(1, line) { program.terminate() } }
        )
        #expect(result.errors.contains { $0.contains("escalating: the workers are not waited for any more") })
        #expect(result.errors.count { $0.contains("killed by SIGTERM (15) while it was being stopped") } == 2)
    }

    @Test(
        "pools, workers on demand and significant ones do what the configuration says, and their sentences tell it",
        .timeLimit(.minutes(5))
    )
    func lives() async throws {
        let workspace = try Workspace()
        func worker(_ name: String, _ misbehaviour: String, _ rest: String) -> String {
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "\(misbehaviour)"],
              subscribes: ["WorkRequested"], \(Workspace.workerEnvironment), handshake: "4m", heartbeat: { every: "1m" },
              shutdown: { grace: "4m" }, \(rest) },
            """
        }
        try workspace.write(
            "bridge.json5",
            """
            { automaticShutdown: "any-significant", workers: [
            \(worker("pool", "none", #"pool: { members: 2, keys: { WorkRequested: { field: "number" } } }"#))
            \(worker("later", "none", "onDemand: true"))
            \(worker("leader", "exit-on:t2", #"restart: "transient", significant: true"#))
            ] }
            """
        )
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "-",
            input: work(1...1),
            waitsForInput: true
        ) { program, line in
            // This worker was down until its first event came, and the second event ends the leader.
            if line.contains("worker \"later\" is ready") { program.finishInput(self.work(2...2)) }
        }
        func place(_ sentence: String) throws -> Int {
            try #require(result.errors.firstIndex { $0.contains(sentence) }, "\(sentence) in \(result.errors)")
        }
        for member in ["pool.1", "pool.2"] { _ = try place("worker \"\(member)\" is ready") }
        let ended = try place("stopping all workers: the significant worker \"leader\" has ended")
        for name in ["pool.1", "pool.2", "later"] {
            let stopped = result.errors.lastIndex {
                $0.contains("worker \"\(name)\"") && $0.contains("as it was asked to")
            }
            #expect(try #require(stopped) > ended)
        }
        #expect(try place("worker \"leader\" (process") < ended)
        // The event over which the leader has ended is left.
        #expect(result.status == .exited(code: 75))
        #expect(result.output.count { $0.contains("WorkDone") } >= 2)
    }
}
