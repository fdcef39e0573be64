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

    /// What the command says if the supervisor has named the worker, whose receipt is missing.
    private static let notHandledYet = "it was not handled yet by worker, and may still be"
    /// What the command says after a pause as long as its limit: the event has not left, or the supervisor has not said
    /// which workers get it.
    private static let knowsLess = [
        "it did not leave in time, so it was not published", "it may still be handled",
    ]

    /// Asks for an answer that never comes, with a longer limit each time, until the command says `wanted`.
    ///
    /// The limit begins before the event leaves. If the machine pauses for as long, the command rightly knows less.
    ///
    /// - Parameters:
    ///   - names: the awaited names, as the command lists them.
    ///   - lesser: what the command may say after such a pause.
    private func expectNoAnswer(
        _ arguments: String...,
        from names: String,
        saying wanted: String,
        or lesser: [String],
        in workspace: Workspace
    ) async throws {
        let name = try #require(arguments.first)
        var last = ""
        for (number, seconds) in zip(1..., [2, 4, 8, 16, 32, 64]) {
            let result = try await SupervisorProgram.run(
                ["request", "--control", "run/s"] + arguments + ["--within", "\(seconds)s"],
                in: workspace.path
            )
            #expect(result.status == .exited(code: 75) && result.output.isEmpty, "\(result.errors)")
            last = result.errors.first ?? ""
            try #require(last.hasPrefix("supervisor: \(name) client-\(number)-"), "\(last)")
            let beginning = last.firstRange(of: " was not answered by \(names) within \(seconds)s; ")
            let found = last[try #require(beginning, "\(last)").upperBound...]
            if found == wanted { return }
            try #require(lesser.contains { $0 == found }, "\(last)")
        }
        Issue.record("the last sentence, \"\(last)\", does not end with \"\(wanted)\"")
    }

    /// A worker in bash that acknowledges nothing, and answers each Ping with this line.
    private func silentWorker(answering line: String) -> String {
        silentWorker(wanting: #"\"Ping\""#, cases: #"*) \#(Self.keepingIdentity); say "\#(line)" ;;"#)
    }

    /// What keeps the identity of the event in `$id`.
    private static let keepingIdentity = #"[[ $line =~ \"id\":\"([^\"]+)\" ]]; id=${BASH_REMATCH[1]}"#

    /// A worker in bash that acknowledges nothing, and does with the line of each event what these cases say.
    private func silentWorker(wanting names: String, cases: String) -> String {
        #"""
        #!/usr/bin/env bash
        link=$EVENT_BRIDGE_FD
        say() { printf '%s\n' "$1" >&"$link"; }
        say "{\"bridge\":\"hello\",\"cookie\":\"$EVENT_BRIDGE_COOKIE\",\"wants\":[\#(names)],\"acknowledge\":\"none\"}"
        say '{"bridge":"ready"}'
        while IFS= read -r line <&"$link"; do
            case $line in
                '{"bridge":"drain"'*) say '{"bridge":"goodbye","reason":"shutdown"}'; exit 0 ;;
                '{"bridge":'*) ;;
                \#(cases)
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

    @Test("an answer to another request is none: the next one is printed, which its own event has caused")
    func ofAnother() async throws {
        let workspace = try Workspace()
        // It answers Ping only when it has seen the answer to the other request: so the client has seen that before.
        let cases = #"""
            *'"type":"Ping"'*) \#(Self.keepingIdentity); say '{"type":"Noted","data":{}}' ;;
            *) say "{\"type\":\"WorkDone\",\"causationid\":\"$id\",\"data\":{}}" ;;
            """#
        let silent = try workspace.program(
            "worker",
            silentWorker(wanting: #"\"Ping\",\"WorkDone\""#, cases: cases)
        )
        let other = """
            , { name: "other", executable: "\(silent)", subscribes: ["Ping", "WorkDone"], handshake: "4m",
                heartbeat: { every: "1m" }, shutdown: { grace: "4m" } }] }
            """
        let bridge = Workspace.bridge()
        let end = try #require(bridge.lastIndex(of: "]"))
        try await withBridge("\(bridge[..<end].dropLast(2))\(other)") { workspace, bridge in
            _ = try #require(await bridge.line(with: "\"other\" is ready"))
            let waiting = workspace.start(
                "request",
                "--control",
                "run/s",
                "--json",
                "Ping",
                "{}",
                "--awaiting",
                "WorkDone",
                "--within",
                "1h"
            )
            _ = try #require(await bridge.line(with: "\"type\":\"Noted\""))
            let published = try await workspace.run(
                "publish",
                "--control",
                "run/s",
                "WorkRequested",
                #"{"number": 2, "text": "x"}"#
            )
            #expect(published.status == .exited(code: 0), "\(published.errors)")
            let result = try await waiting.result()
            #expect(result.status == .exited(code: 0) && result.errors.isEmpty, "\(result.errors)")
            let answer = try JSONReader().read(result.output.joined())
            #expect(text(answer["source"]) == "other" && text(answer["causationid"])?.hasPrefix("client-1-") == true)
        }
    }

    @Test("without an answer in time it says who has not handled the event yet")
    func notHandled() async throws {
        try await withBridge(Workspace.bridge("hang-on:mine")) { workspace, _ in
            try await expectNoAnswer(
                "WorkRequested",
                #"{"number": 1, "text": "mine"}"#,
                "--awaiting",
                "WorkDone",
                from: "WorkDone",
                saying: Self.notHandledYet,
                or: Self.knowsLess,
                in: workspace
            )
        }
    }

    @Test("without an answer in time it says who has handled the event")
    func handledAndNotAnswered() async throws {
        try await withBridge(Workspace.bridge()) { workspace, _ in
            try await expectNoAnswer(
                "WorkRequested",
                #"{"number": 7, "text": "t7"}"#,
                "--awaiting",
                "WorkAccepted",
                "--or-failing",
                "WorkFailed",
                from: "WorkAccepted or WorkFailed",
                saying: "it was handled by worker",
                // The worker's receipt may come before the supervisor's own.
                or: Self.knowsLess + [Self.notHandledYet, "it was handled by worker; it may still be handled"],
                in: workspace
            )
        }
    }

    @Test("one that confirms nothing may answer; an answer that nothing has caused is none, which is said")
    func unconfirmed() async throws {
        for (line, isAnswer) in [
            (#"{\"type\":\"Pong\",\"causationid\":\"$id\",\"data\":{}}"#, true),
            (#"{\"type\":\"Pong\",\"data\":{}}"#, false),
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
            if isAnswer {
                let result = try await request("Ping", "{}", "--awaiting", "Pong", "--within", "2m", in: workspace)
                #expect(result.status == .exited(code: 0), "\(result.errors)")
                #expect(result.output.first?.contains("Pong") == true)
            } else {
                let unconfirmed = "the processes that want it do not report whether they handled it"
                func uncaused(_ events: String) -> String {
                    "; \(events) of these events came without a cause: an answer is published inside the handler"
                }
                // After a pause, what came for an earlier request may be counted, too.
                let counts = [""] + (1...6).map { uncaused("\($0)") }
                let fates = Self.knowsLess + [Self.notHandledYet, unconfirmed]
                try await expectNoAnswer(
                    "Ping",
                    "{}",
                    "--awaiting",
                    "Pong",
                    from: "Pong",
                    saying: unconfirmed + uncaused("1"),
                    or: fates.flatMap { clause in counts.map { clause + $0 } },
                    in: workspace
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
