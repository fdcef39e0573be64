import BridgePlatform
import JSONText
import Testing

@Suite("supervisor request", .serialized, .timeLimit(.minutes(5)))
struct RequestTests {
    /// Runs `body` while a supervisor with a worker runs.
    private func withBridge(
        _ configuration: String,
        _ body: (Workspace, RunningProgram) async throws -> Void
    ) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration)
        let bridge = workspace.start("run", "bridge.json5", "--format", "json")
        _ = try #require(await bridge.line(with: "is ready"))
        try await body(workspace, bridge)
        bridge.kill()
        _ = try await bridge.result()
    }

    private func request(_ arguments: String..., in workspace: Workspace) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(["request", "--control", "run/s"] + arguments, in: workspace.path)
    }

    private func text(_ node: JSONNode?) -> String? {
        if case .string(let text)? = node?.value { text } else { nil }
    }

    /// A worker in bash that acknowledges nothing, and answers each Ping with this line.
    private func silentWorker(answering line: String) -> String {
        #"""
        #!/usr/bin/env bash
        link=$EVENT_BRIDGE_FD
        say() { printf '%s\n' "$1" >&"$link"; }
        say "{\"bridge\":\"hello\",\"cookie\":\"$EVENT_BRIDGE_COOKIE\",\"wants\":[\"Ping\"],\"acknowledge\":\"none\"}"
        say '{"bridge":"ready"}'
        while IFS= read -r line <&"$link"; do
            case $line in
                '{"bridge":"drain"'*) say '{"bridge":"goodbye","reason":"shutdown"}'; exit 0 ;;
                '{"bridge":'*) ;;
                *) [[ $line =~ \"id\":\"([^\"]+)\" ]]; id=${BASH_REMATCH[1]}; say "\#(line)" ;;
            esac
        done
        """#
    }

    @Test("prints the event that its own has caused, with the name that others know that by")
    func answered() async throws {
        try await withBridge(Workspace.bridge()) { workspace, bridge in
            let fields = #"{"number": 7, "text": "t7"}"#
            let result = try await request("--json", "--awaiting", "WorkDone", "WorkRequested", fields, in: workspace)
            #expect(result.status == .exited(code: 0) && result.errors.isEmpty, "\(result.errors)")
            let answer = try JSONReader().read(result.output.joined())
            #expect(text(answer["type"]) == "WorkDone" && text(answer["source"]) == "worker")
            #expect(answer["data"]?["number"]?.value == .unsigned(7))
            let line = try #require(await bridge.line(with: "\"type\":\"WorkDone\""))
            // The output is the same line as the supervisor's own.
            #expect(result.output == [line])
            #expect(text(answer["causationid"])?.hasPrefix("client-1-") == true)
            let plain = try await request("WorkRequested", fields, "--awaiting", "WorkDone", in: workspace)
            #expect(plain.status == .exited(code: 0) && plain.output.count == 1)
            #expect(plain.output.first?.contains("worker → WorkDone  {") == true, "\(plain.output)")
        }
    }

    @Test("the event that stands for a failure is printed too, with a status of its own")
    func failing() async throws {
        try await withBridge(Workspace.bridge()) { workspace, _ in
            let result = try await request(
                "WorkRequested",
                #"{"number": 7, "text": "t7"}"#,
                "--awaiting",
                "WorkAccepted",
                "--or-failing",
                "WorkDone",
                in: workspace
            )
            #expect(result.status == .exited(code: 1) && result.errors.isEmpty, "\(result.errors)")
            #expect(result.output.count == 1 && result.output.first?.contains("WorkDone") == true)
        }
    }

    @Test("an answer to another request is none")
    func ofAnother() async throws {
        let workspace = try Workspace()
        let silent = try workspace.program("worker", silentWorker(answering: #"{\"type\":\"Noted\",\"data\":{}}"#))
        let other = """
            , { name: "other", executable: "\(silent)", subscribes: ["Ping"], handshake: "4m", heartbeat: { every: "1m" },
                shutdown: { grace: "4m" } }] }
            """
        let bridge = Workspace.bridge()
        let end = try #require(bridge.lastIndex(of: "]"))
        try await withBridge("\(bridge[..<end].dropLast(2))\(other)") { workspace, bridge in
            _ = try #require(await bridge.line(with: "\"other\" is ready"))
            let waiting = workspace.start(
                "request",
                "--control",
                "run/s",
                "Ping",
                "{}",
                "--awaiting",
                "WorkDone",
                "--within",
                "3s"
            )
            _ = try #require(await bridge.line(with: "\"type\":\"Ping\""))
            let published = try await workspace.run(
                "publish",
                "--control",
                "run/s",
                "WorkRequested",
                #"{"number": 2, "text": "x"}"#
            )
            #expect(published.status == .exited(code: 0), "\(published.errors)")
            let result = try await waiting.result()
            #expect(result.status == .exited(code: 75) && result.output.isEmpty, "\(result.errors)")
        }
    }

    @Test("without an answer in time it says who has not handled the event yet")
    func notHandled() async throws {
        try await withBridge(Workspace.bridge("hang-on:mine")) { workspace, _ in
            let result = try await request(
                "WorkRequested",
                #"{"number": 1, "text": "mine"}"#,
                "--awaiting",
                "WorkDone",
                "--within",
                "2s",
                in: workspace
            )
            #expect(result.status == .exited(code: 75) && result.output.isEmpty)
            #expect(
                result.errors.first?.hasPrefix("supervisor: WorkRequested client-1-") == true
                    && result.errors.first?.hasSuffix(
                        """
                         was not answered by WorkDone within 2s; it was not handled yet by worker, and may still be
                        """
                    ) == true,
                "\(result.errors)"
            )
        }
    }

    @Test("without an answer in time it says who has handled the event")
    func handledAndNotAnswered() async throws {
        try await withBridge(Workspace.bridge()) { workspace, _ in
            let result = try await request(
                "WorkRequested",
                #"{"number": 7, "text": "t7"}"#,
                "--awaiting",
                "WorkAccepted",
                "--or-failing",
                "WorkFailed",
                "--within",
                "3s",
                in: workspace
            )
            #expect(result.status == .exited(code: 75) && result.output.isEmpty)
            #expect(
                result.errors.first?.hasSuffix(
                    " was not answered by WorkAccepted or WorkFailed within 3s; it was handled by worker"
                ) == true,
                "\(result.errors)"
            )
        }
    }

    @Test("one that confirms nothing may answer; an answer that nothing has caused is none, which is said")
    func unconfirmed() async throws {
        for (line, code, time) in [
            (#"{\"type\":\"Pong\",\"causationid\":\"$id\",\"data\":{}}"#, Int32(0), "2m"),
            (#"{\"type\":\"Pong\",\"data\":{}}"#, 75, "3s"),
        ] {
            let workspace = try Workspace()
            let worker = try workspace.program("worker", silentWorker(answering: line))
            let configuration = """
                { control: "run/s", workers: [{ name: "worker", executable: "\(worker)", subscribes: ["Ping"],
                  handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } }] }
                """
            try workspace.write("bridge.json5", configuration)
            let bridge = workspace.start("run", "bridge.json5", "--format", "json")
            _ = try #require(await bridge.line(with: "is ready"))
            let result = try await request("Ping", "{}", "--awaiting", "Pong", "--within", time, in: workspace)
            #expect(result.status == .exited(code: code), "\(result.errors)")
            if code == 0 {
                #expect(result.output.first?.contains("Pong") == true)
            } else {
                #expect(
                    result.errors.first?.hasSuffix(
                        """
                         was not answered by Pong within 3s; the processes that want it do not report whether they \
                        handled it; 1 of these events came without a cause: an answer is published inside the handler
                        """
                    ) == true,
                    "\(result.errors)"
                )
            }
            bridge.kill()
            _ = try await bridge.result()
        }
    }

    @Test("tells at once of an event that nothing wants, that is refused, or whose supervisor goes away")
    func atOnce() async throws {
        try await withBridge(Workspace.bridge("hang-on:t")) { workspace, bridge in
            let unwanted = try await request("WorkRequsted", "{}", "--awaiting", "WorkDone", in: workspace)
            #expect(unwanted.status == .exited(code: 69))
            #expect(
                unwanted.errors == [#"supervisor: no worker wants "WorkRequsted"; did you mean "WorkRequested"?"#]
            )
            let refused = try await request("WorkRequested", "{}", "--awaiting", "WorkDone", in: workspace)
            #expect(refused.status == .exited(code: 65))
            #expect(refused.errors.first?.hasPrefix("supervisor: worker refused WorkRequested: ") == true)
            let waiting = workspace.start(
                "request",
                "--control",
                "run/s",
                "WorkRequested",
                #"{"number": 1, "text": "t"}"#,
                "--awaiting",
                "WorkDone"
            )
            _ = try #require(await bridge.line(with: "\"text\":\"t\""))
            bridge.kill()
            let lost = try await waiting.result()
            #expect(lost.status == .exited(code: 69))
            #expect(lost.errors.first?.hasSuffix(" was handled is not known") == true, "\(lost.errors)")
        }
    }

    @Test("names what is wrong with its arguments, before it attaches")
    func mistakes() async throws {
        let workspace = try Workspace()
        let long = String(repeating: "x", count: 257)
        let cases: [(arguments: [String], status: Int32, sentence: String)] = [
            (["A", "{}"], 64, "found no --awaiting, expected the name of an event"),
            (["A", "{}", "--awaiting", "*"], 64, "found \"*\" (1 bytes) after --awaiting, expected an event's name"),
            (["A", "{}", "--awaiting", "B", "--or-failing", long], 64, "(257 bytes) after --or-failing"),
            (["A", "{}", "--awaiting", "B", "--or-failing", "B"], 64, "expected two names"),
            (["A", "{}", "--awaiting", "B", "--within", "soon"], 64, "found \"soon\" after --within"),
            (["*", "{}", "--awaiting", "B"], 64, "other than \"*\""),
            (["WorkerReady", "{}", "--awaiting", "B"], 64, "WorkerReady is a report of the bridge itself"),
            (["A", "{oops}", "--awaiting", "B"], 65, "supervisor: JSON:1:2: "),
            (["A", "{}", "--awaiting", "B"], 69, "is a supervisor running"),
        ]
        for (arguments, status, sentence) in cases {
            let result = try await SupervisorProgram.run(["request"] + arguments, in: workspace.path)
            #expect(result.status == .exited(code: status), "\(arguments.map { $0.prefix(40) })")
            #expect(result.errors.first?.contains(sentence) == true, "\(result.errors)")
        }
    }
}
