import BridgePlatform
import Testing

@Suite("supervisor dead-letters", .serialized, .timeLimit(.minutes(5)))
struct DeadLettersTests {
    /// Runs `body` while a supervisor runs that has a dead letter of two: letters 1 and 2.
    private func withLetters(_ body: (Workspace) async throws -> Void) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge("throw-on:bad"))
        let bridge = workspace.start("run", "bridge.json5")
        _ = try #require(await bridge.line(with: "is ready"))
        for number in 1...2 {
            let published = try await workspace.run(
                "publish",
                "--control",
                "run/s",
                "WorkRequested",
                #"{"number": \#(number), "text": "bad"}"#
            )
            #expect(published.status == .exited(code: 65))
        }
        try await body(workspace)
        bridge.kill()
        _ = try await bridge.result()
    }

    private func deadLetters(
        _ arguments: String...,
        in workspace: Workspace
    ) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(["dead-letters", "--control", "run/s"] + arguments, in: workspace.path)
    }

    @Test("lists what is kept, as a table or as JSON, by event and by worker")
    func list() async throws {
        try await withLetters { workspace in
            let table = try await deadLetters(in: workspace)
            #expect(table.status == .exited(code: 0) && table.errors.isEmpty)
            #expect(table.output.first == "ID  EVENT          WORKER  CAUSE    ATTEMPTS  REASON")
            #expect(table.output.count == 3)
            #expect(table.output[1].hasPrefix(" 1  WorkRequested  worker  refused         1  "), "\(table.output)")
            #expect(table.output[1].contains("is refused on purpose"))
            let json = try await deadLetters(
                "list",
                "--json",
                "--event",
                "WorkRequested",
                "--worker",
                "worker",
                in: workspace
            )
            #expect(json.output.count == 2)
            #expect(json.output.first?.hasPrefix(#"{"letter":1,"event":"WorkRequested","#) == true, "\(json.output)")
            #expect(try await deadLetters("--event", "WorkDone", in: workspace).output == ["no dead letters"])
            let none = try await deadLetters("--worker", "host", "--json", in: workspace)
            #expect(none.status == .exited(code: 0) && none.output.isEmpty && none.errors.isEmpty)
        }
    }

    @Test("shows letters with their payload, and says which are not there")
    func show() async throws {
        try await withLetters { workspace in
            let shown = try await deadLetters("show", "2", "7", in: workspace)
            #expect(shown.status == .exited(code: 64) && shown.errors.isEmpty)
            #expect(shown.output.first == "letter    2")
            #expect(shown.output.contains(#"payload   {"number":2,"text":"bad"}"#), "\(shown.output)")
            #expect(shown.output.last == "there is no letter 7")
            let json = try await deadLetters("show", "--json", "1", in: workspace)
            #expect(json.status == .exited(code: 0))
            #expect(json.output.count == 1)
            #expect(json.output.first?.hasSuffix(#""data":{"number":1,"text":"bad"}}"#) == true, "\(json.output)")
        }
    }

    @Test("redelivers letters, and says of each what it came to; one that is refused stays")
    func redeliver() async throws {
        try await withLetters { workspace in
            let accepted = try await deadLetters("redeliver", "9", "1", in: workspace)
            #expect(accepted.status == .exited(code: 64) && accepted.errors.isEmpty)
            #expect(accepted.output == ["there is no letter 9", "letter 1 was accepted by worker"])
            let stopped = try await workspace.run("stop", "worker", "--control", "run/s")
            #expect(stopped.status == .exited(code: 0))
            let refused = try await deadLetters("redeliver", "2", in: workspace)
            #expect(refused.status == .exited(code: 75) && refused.errors.isEmpty)
            #expect(refused.output.first?.hasPrefix("letter 2 was refused: ") == true, "\(refused.output)")
            let json = try await deadLetters("redeliver", "2", "9", "--json", in: workspace)
            #expect(json.status == .exited(code: 75))
            #expect(
                json.output.first?.hasPrefix(#"{"letter":2,"kind":"refused","worker":"worker","refusal":""#) == true
            )
            #expect(json.output.last == #"{"letter":9,"kind":"unknown"}"#)
            #expect(try await deadLetters("show", "2", in: workspace).status == .exited(code: 0))
        }
    }

    @Test("discards letters, and only these")
    func discard() async throws {
        try await withLetters { workspace in
            let discarded = try await deadLetters("discard", "1", in: workspace)
            #expect(discarded.status == .exited(code: 0) && discarded.errors.isEmpty)
            #expect(discarded.output == ["letter 1 for worker was discarded"])
            #expect(try await deadLetters("discard", "1", in: workspace).output == ["there is no letter 1"])
            #expect(try await deadLetters(in: workspace).output.count == 2)
        }
    }

    @Test("says what is wrong with its arguments, before it attaches, and that no supervisor answers")
    func mistakes() async throws {
        let workspace = try Workspace()
        let wrong = try await deadLetters("redeliver", "1", "x", in: workspace)
        #expect(wrong.status == .exited(code: 64))
        #expect(wrong.errors.first == #"supervisor: found the ID "x", expected the number of a dead letter"#)
        let alone = try await deadLetters(in: workspace)
        #expect(alone.status == .exited(code: 69))
        #expect(alone.errors.first?.contains("is a supervisor running") == true, "\(alone.errors)")
    }
}
