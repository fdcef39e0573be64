import BridgePlatform
import JSONText
import Testing

@Suite("supervisor publish", .serialized, .timeLimit(.minutes(5)))
struct PublishTests {
    /// Runs `body` while a supervisor with a worker runs.
    private func withBridge(
        _ misbehaviour: String = "none",
        _ body: (Workspace, RunningProgram) async throws -> Void
    ) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge(misbehaviour))
        let bridge = workspace.start("run", "bridge.json5", "--format", "json")
        _ = try #require(await bridge.line(with: "is ready"))
        try await body(workspace, bridge)
        bridge.kill()
        _ = try await bridge.result()
    }

    private func publish(
        _ arguments: String...,
        in workspace: Workspace,
        input: String = ""
    ) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(
            ["publish", "--control", "run/s"] + arguments,
            in: workspace.path,
            input: input
        )
    }

    @Test("says which worker has handled the event, and names it as supervisor run does")
    func handled() async throws {
        try await withBridge { workspace, bridge in
            let result = try await publish("WorkRequested", #"{"number": 7, "text": "t7"}"#, in: workspace)
            #expect(result.status == .exited(code: 0))
            #expect(result.errors.isEmpty)
            let line = try #require(await bridge.line(with: "\"type\":\"WorkRequested\""))
            guard case .string(let id)? = try JSONReader().read(line)["id"]?.value else {
                Issue.record("no id in \(line)")
                return
            }
            #expect(id.hasPrefix("client-1-"))
            #expect(result.output == ["WorkRequested \(id) was handled by worker"])
            #expect(await bridge.line { $0.contains("WorkDone") && $0.contains("\"number\":7") } != nil)
        }
    }

    @Test("reads the JSON from standard input, in as many lines as it has")
    func fromInput() async throws {
        try await withBridge { workspace, _ in
            let good = try await publish(
                "WorkRequested",
                "-",
                in: workspace,
                input: "{\n\"number\": 8,\n\"text\": \"\"\n}\n"
            )
            #expect(good.status == .exited(code: 0), "\(good.errors)")
            let bad = try await publish(
                "WorkRequested",
                "-",
                in: workspace,
                input: "{\n\"number\": 8,\n\"text\": oops\n}\n"
            )
            #expect(bad.status == .exited(code: 65))
            #expect(bad.errors.first?.hasPrefix("supervisor: standard input:3:9: ") == true, "\(bad.errors)")
        }
    }

    @Test("tells of a name that no worker wants, with the nearest one that a worker does want")
    func unwanted() async throws {
        try await withBridge { workspace, _ in
            for _ in 1...2 {
                let result = try await publish("WorkRequsted", "{}", in: workspace)
                #expect(result.status == .exited(code: 69))
                #expect(
                    result.errors == [#"supervisor: no worker wants "WorkRequsted"; did you mean "WorkRequested"?"#]
                )
                #expect(result.output.isEmpty)
            }
        }
    }

    @Test("tells why a worker refuses an event: for its fields, and of its own accord")
    func refused() async throws {
        try await withBridge("throw-on:bad") { workspace, _ in
            let fields = try await publish("WorkRequested", #"{"number": "seven", "text": "t"}"#, in: workspace)
            #expect(fields.status == .exited(code: 65))
            #expect(fields.errors.count == 1)
            #expect(
                fields.errors.first?.hasPrefix("supervisor: worker refused WorkRequested: ") == true
                    && fields.errors.first?.hasSuffix(" at number.") == true,
                "\(fields.errors)"
            )
            let missing = try await publish("WorkRequested", #"{"number": 7}"#, in: workspace)
            #expect(missing.status == .exited(code: 65))
            #expect(missing.errors.first?.contains("text") == true, "\(missing.errors)")
            let own = try await publish("WorkRequested", #"{"number": 7, "text": "bad"}"#, in: workspace)
            #expect(own.status == .exited(code: 65))
            #expect(own.errors.first?.contains("is refused on purpose") == true, "\(own.errors)")
        }
    }

    @Test("does not wait for ever for a worker that never returns, and names the event as supervisor run does")
    func late() async throws {
        try await withBridge("hang-on:t1") { workspace, bridge in
            var sentences: [String] = []
            var published: String?
            // The limit begins before the event leaves. If the machine pauses for as long, the event is not published.
            for limit in (0..<9).map({ 300 << $0 }) where published == nil {
                let result = try await publish(
                    "--within",
                    "\(limit)ms",
                    "WorkRequested",
                    #"{"number": 1, "text": "t1"}"#,
                    in: workspace
                )
                #expect(result.status == .exited(code: 75))
                let sentence = result.errors.first ?? ""
                #expect(sentence.contains("was not handled within \(Duration.milliseconds(limit))"), "\(sentence)")
                let outlooks = ["; it may still be handled", "; it did not leave in time, so it was not published"]
                #expect(outlooks.contains { sentence.hasSuffix($0) }, "\(sentence)")
                sentences += result.errors
                published = bridge.lines.first { $0.contains("\"type\":\"WorkRequested\"") }
            }
            let line = try #require(published, "no event has arrived: \(sentences)")
            guard case .string(let id)? = try JSONReader().read(line)["id"]?.value else {
                Issue.record("no id in \(line)")
                return
            }
            #expect(
                sentences.contains { $0.hasPrefix("supervisor: WorkRequested \(id) was not") },
                "\(id): \(sentences)"
            )
        }
    }

    @Test("hands an event that is too large to no worker")
    func tooLarge() async throws {
        try await withBridge { workspace, bridge in
            let text = String(repeating: "x", count: (16 << 20) - 64)
            try workspace.write("large.json", #"{"number": 1, "text": "\#(text)"}"#)
            let program = try SupervisorProgram.products() + "/supervisor"
            let result = try await SupervisorProgram.run(
                ["-c", "exec '\(program)' publish --control run/s WorkRequested - < large.json"],
                of: "/bin/sh",
                in: workspace.path
            )
            #expect(result.status == .exited(code: 65))
            #expect(result.errors.first?.contains("WorkRequested") == true, "\(result.errors)")
            #expect(!bridge.lines.contains { $0.contains("\"type\":\"WorkRequested\"") })
        }
    }

    @Test("names what is wrong with its arguments, before it attaches")
    func mistakes() async throws {
        let workspace = try Workspace()
        let long = String(repeating: "x", count: 257)
        let cases: [(arguments: [String], status: Int32, sentence: String)] = [
            (["", "{}"], 64, "found no name, expected the name of an event"),
            (
                ["WorkRequested"], 64,
                "found no JSON, expected an object with the event's fields, or - for standard input"
            ),
            (["*", "{}"], 64, "expected an event's name of 1 to 256 bytes other than \"*\""),
            ([long, "{}"], 64, "(257 bytes), expected an event's name of 1 to 256 bytes"),
            (["WorkerReady", "{}"], 64, "WorkerReady is a report of the bridge itself, which nothing else publishes"),
            (["--within", "soon", "A", "{}"], 64, "found \"soon\" after --within, expected a duration such as"),
            (["--within", "0s", "A", "{}"], 64, "found \"0s\" after --within, expected a time above 0"),
            (["A", "{oops}"], 65, "supervisor: JSON:1:2: "),
            (["A", "[1]"], 65, "supervisor: JSON:1:1: found an array, expected an object with the event's fields"),
            (["A", "{}"], 69, "is a supervisor running"),
        ]
        for (arguments, status, sentence) in cases {
            let result = try await SupervisorProgram.run(["publish"] + arguments, in: workspace.path)
            #expect(result.status == .exited(code: status), "\(arguments.map { $0.prefix(40) })")
            #expect(result.errors.first?.contains(sentence) == true, "\(result.errors)")
        }
    }
}
