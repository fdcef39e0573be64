import BridgeClient
import BridgePlatform
import DomainEvents
import ExampleDomain
import Foundation
import JSONText
import Testing

@Suite("supervisor trace", .timeLimit(.minutes(5)))
struct TraceTests {
    private static let configuration = """
        { control: "run/s", workers: [{ name: "worker", executable: "faulty-worker", arguments: ["--misbehave", "none"],
          subscribes: ["WorkRequested"], publishes: ["WorkDone"], environment: { TSAN_OPTIONS: "\(CurrentProcess.environment("TSAN_OPTIONS") ?? "")" },
          handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } }] }
        """

    /// Runs a supervisor with a worker, and the body beside it until that returns.
    private func beside(
        _ workspace: Workspace,
        _ body: @escaping @Sendable (SupervisorProgram) async throws -> SupervisorProgram.Result?
    ) async throws -> SupervisorProgram.Result? {
        try workspace.write("bridge.json5", Self.configuration)
        // The first result of the body counts.
        let results = AsyncStream.makeStream(of: SupervisorProgram.Result?.self)
        _ = try await workspace.run(
            "run",
            "bridge.json5",
            onError: { program, line in
                guard line.contains("is ready") else { return }
                Task {
                    results.continuation.yield(try? await body(program))
                    program.terminate()
                }
            }
        )
        for await result in results.stream { return result }
        return nil
    }

    /// Records into `t.json` until `end` ends one of the two programs, when the traces of some work are known.
    private func traceOfWork(
        in workspace: Workspace,
        end: @escaping @Sendable (_ trace: SupervisorProgram, _ supervisor: SupervisorProgram) -> Void
    ) async throws -> SupervisorProgram.Result {
        let path = workspace.path
        let result = try await beside(workspace) { supervisor in
            try await workspace.run(
                "trace",
                "--control",
                "run/s",
                "--for",
                "1h",
                "--output",
                "t.json",
                onError: { trace, line in
                    guard line.contains("records for") else { return }
                    Task {
                        try await Self.haveWorkTraced(at: path + "/run/s")
                        end(trace, supervisor)
                    }
                }
            )
        }
        return try #require(result)
    }

    /// Lets the worker handle events until the trace of one has spans of all three processes, which the program then
    /// has too.
    private static func haveWorkTraced(at path: String) async throws {
        let publisher = EventPublisher()
        let batches = publisher.events(of: EventsTraced.self)
        let client = try await BridgeClient.connect(to: path, publisher: publisher, name: "a test")
        // The worker learns later than the supervisor that it is to trace: events before that leave fewer spans.
        let asking = publisher.subscribe(to: WorkDone.self) { done in
            publisher.publish(WorkRequested(number: done.number + 1, text: "t"))
        }
        publisher.publish(WorkRequested(number: 1, text: "t"))
        var (published, passed, handled) = (Set<String>(), Set<String>(), Set<String>())
        for try await batch in batches {
            for span in batch.spans {
                switch (batch.process, span.stage) {
                case ("a test", .publish): published.insert(span.id)
                case ("host", .passing): passed.insert(span.id)
                case ("worker", .publish): handled.insert(span.cause ?? "")
                default: continue
                }
            }
            if !published.intersection(passed).isDisjoint(with: handled) { break }
        }
        asking.cancel()
        await client.close()
    }

    private func text(_ node: JSONNode?) -> String? {
        if case .string(let text)? = node?.value { text } else { nil }
    }

    /// Checks a trace as a reader does that knows nothing of this project.
    private static let check = """
        import json, sys
        trace = json.load(open(sys.argv[1]))["traceEvents"]
        names = {e["pid"]: e["args"]["name"] for e in trace if e["name"] == "process_name"}
        slices = [e for e in trace if e["ph"] == "X"]
        def find(process, stage, event):
            return [e for e in slices if names[e["pid"]] == process and e["cat"] == stage and e["args"]["event"] == event]
        for effect in find("worker", "publish", "WorkDone"):
            cause = [e for e in find("worker", "handling", "WorkRequested") if e["args"]["id"] == effect["args"]["cause"]]
            if not cause: continue
            cause = cause[0]
            assert cause["tid"] == effect["tid"] and cause["ts"] <= effect["ts"]
            assert effect["ts"] + effect["dur"] <= cause["ts"] + cause["dur"] + 0.001
            passed = [e for e in find("host", "passing", "WorkRequested") if e["args"]["id"] == cause["args"]["id"]]
            if not passed: continue
            assert passed[0]["ts"] <= cause["ts"]
            starts = {e["id"]: e for e in trace if e["ph"] == "s"}
            ends = [e for e in trace if e["ph"] == "f"]
            assert len(starts) == len(ends)
            def linked(a, b): return any((starts[e["id"]]["tid"], starts[e["id"]]["ts"], e["tid"], e["ts"]) == (a["tid"], a["ts"], b["tid"], b["ts"]) for e in ends)
            assert linked(cause, effect)
            asked = [e for e in find("a test", "publish", "WorkRequested") if e["args"]["id"] == cause["args"]["id"]]
            if not asked: continue
            assert linked(asked[0], passed[0]) and linked(asked[0], cause)
            waits = [e for e in trace if e["ph"] in "be"]
            assert sorted(e["id"] for e in waits if e["ph"] == "b") == sorted(e["id"] for e in waits if e["ph"] == "e")
            print("fine")
            break
        """

    @Test(
        "spans of the supervisor and of its worker are in one file, with effects linked to their causes, when it is asked to end"
    )
    func wholeTrace() async throws {
        let workspace = try Workspace()
        let path = workspace.path
        // As when a terminal closes.
        let traced = try await traceOfWork(in: workspace) { trace, _ in trace.hangUp() }
        #expect(traced.status == .exited(code: 0), "\(traced.errors)")
        #expect(traced.errors.first == "supervisor: records for 1h; Ctrl-C ends it before that")
        #expect(traced.errors.last?.hasPrefix("supervisor: t.json has ") == true)
        let whole = try JSONReader().read(Array(Data(contentsOf: URL(fileURLWithPath: path + "/t.json"))))
        guard case .array(let entries)? = whole["traceEvents"]?.value else {
            Issue.record("there are no traceEvents")
            return
        }
        let names = Set(entries.filter { text($0["name"]) == "process_name" }.compactMap { text($0["args"]?["name"]) })
        #expect(names.isSuperset(of: ["host", "worker", "a test"]))
        let categories = Set(entries.compactMap { text($0["cat"]) })
        #expect(categories == ["publish", "outbox", "wire", "passing", "handling", "flow"])
        let left = try FileManager.default.contentsOfDirectory(atPath: path)
        #expect(!left.contains { $0.hasSuffix(".part") })
        try workspace.write("check.py", Self.check)
        guard OperatingSystem.fileExists("/usr/bin/python3") else {
            CurrentProcess.report("not tested: the trace as Python reads it, as there is no python3")
            return
        }
        let checked = try await SupervisorProgram.run(["check.py", "t.json"], of: "/usr/bin/python3", in: path)
        #expect(checked.output == ["fine"], "\(checked.errors)")
    }

    @Test("it ends by itself when its time is over; - is standard output")
    func standardOutput() async throws {
        let workspace = try Workspace()
        let result = try await beside(workspace) { _ in
            try await workspace.run("trace", "--control", "run/s", "--for", "1ms", "--output", "-")
        }
        let traced = try #require(result)
        #expect(traced.status == .exited(code: 0))
        #expect(try JSONReader().read(traced.output.joined(separator: "\n"))["traceEvents"] != nil)
    }

    @Test("a full disk is said in a sentence, with the exit status of an output that failed")
    func fullDisk() async throws {
        guard OperatingSystem.fileExists("/dev/full") else {
            return CurrentProcess.report("not tested: trace on a full disk, as there is no /dev/full")
        }
        let workspace = try Workspace()
        let result = try await beside(workspace) { _ in
            try await workspace.run("trace", "--control", "run/s", "--for", "1ms", "--output", "/dev/full")
        }
        let traced = try #require(result)
        #expect(traced.status == .exited(code: 74))
        #expect(
            traced.errors.last == "supervisor: the trace cannot be written to /dev/full: No space left on device"
        )
    }

    @Test("who asks twice for the end does not wait for an output that takes nothing")
    func stalledOutput() async throws {
        let workspace = try Workspace()
        let program = try SupervisorProgram.products() + "/supervisor"
        // A pipe holds 64 KiB, and the reader of this pipe reads nothing from it until the end.
        let script = """
            mkfifo end
            { head -c 65536 /dev/zero; '\(program)' trace --control run/s --for 1ms --output - & echo "trace $!" >&2
              wait $!; echo "ended $?" >&2; echo > end; } | read line < end
            """
        let path = workspace.path
        let result = try await beside(workspace) { _ in
            let shell = RunningProgram(["-c", script], of: "/bin/sh", in: path)
            let started = try #require(await shell.line { $0.hasPrefix("trace ") })
            let trace = try #require(pid_t(started.dropFirst("trace ".count)))
            _ = try #require(await shell.line(with: "records for"), "\(shell.lines)")
            let asking = Task {
                while !Task.isCancelled {
                    kill(trace, SIGTERM)
                    // An earlier signal counts as part of the last one.
                    try await Task.sleep(for: .milliseconds(150))
                }
            }
            _ = await shell.line { $0.hasPrefix("ended ") }
            asking.cancel()
            return try await shell.result()
        }
        #expect(result?.errors.last == "ended 74", "\(result?.errors ?? [])")
    }

    @Test("a file that cannot be made is said at once; without a supervisor no file is left")
    func beforeItBegins() async throws {
        let workspace = try Workspace()
        let unwritable = try await workspace.run("trace", "--for", "1h", "--output", "none/t.json")
        #expect(unwritable.status == .exited(code: 74))
        #expect(unwritable.errors == ["supervisor: none/t.json cannot be written: No such file or directory"])
        let alone = try await workspace.run("trace", "--control", "run/s", "--for", "1h", "--output", "t.json")
        #expect(alone.status == .exited(code: 69))
        #expect(try FileManager.default.contentsOfDirectory(atPath: workspace.path).isEmpty)
    }

    @Test("when the supervisor goes away what came before is written, and it is said")
    func supervisorGoes() async throws {
        let workspace = try Workspace()
        let path = workspace.path
        let traced = try await traceOfWork(in: workspace) { _, supervisor in supervisor.kill() }
        #expect(traced.status == .exited(code: 69))
        #expect(traced.errors.contains { $0.hasPrefix("supervisor: the supervisor has gone (") })
        #expect(traced.errors.last?.hasPrefix("supervisor: t.json has ") == true)
        _ = try JSONReader().read(Array(Data(contentsOf: URL(fileURLWithPath: path + "/t.json"))))
    }
}
