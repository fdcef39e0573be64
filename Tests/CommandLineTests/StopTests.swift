import BridgePlatform
import Locks
import Testing

@Suite("supervisor run, when it is asked to stop")
struct StopTests {
    private func configuration(_ misbehaviour: String) -> String {
        let sanitizer = CurrentProcess.environment("TSAN_OPTIONS") ?? ""
        let workers = ["first", "second"].map { name in
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "\(misbehaviour)"],
              subscribes: ["WorkRequested"], environment: { SWIFT_BACKTRACE: "enable=no", TSAN_OPTIONS: "\(sanitizer)" },
              handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } }
            """
        }
        return "{ startOrder: \"in-sequence\", workers: [\(workers.joined(separator: ",\n"))] }"
    }

    private func work(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { #"{"type": "WorkRequested", "data": {"number": \#($0), "text": "t\#($0)"}}"# + "\n" }.joined()
    }

    /// Whether this line tells of the event with this number, which the workers are given in this moment.
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
        try workspace.write("in.jsonl", work(1...2_000))
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "in.jsonl",
            onOutput: { program, line in if isRequest(500, line) { program.terminate() } }
        )
        #expect(result.status == .exited(code: 0))
        // At least that one which the signal has followed.
        let taken = result.output.count { $0.contains("WorkRequested") }
        #expect((500...2_000).contains(taken))
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
                    // So that it is not taken for an echo of the first.
                    try await Task.sleep(for: .milliseconds(200))
                    program.terminate()
                }
            },
            onOutput: { program, line in if isRequest(1, line) { program.terminate() } }
        )
        #expect(result.errors.contains { $0.contains("hurrying: the workers are not waited for any more") })
        #expect(result.errors.count { $0.contains("killed by SIGTERM (15) while it was being stopped") } == 2)
    }
}
