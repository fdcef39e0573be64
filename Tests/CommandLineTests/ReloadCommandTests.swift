import BridgePlatform
import TestSupport
import Testing

@Suite("supervisor reload", .serialized, .timeLimit(.minutes(5)))
struct ReloadCommandTests {
    private let workspace: Workspace

    init() throws {
        workspace = try Workspace()
    }

    private func reload(_ words: String...) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(["reload", "--control", "run/s"] + words, in: workspace.path)
    }

    @Test("returns when all is done, and says what was done")
    func taken() async throws {
        let supervisor = try await RunningSupervisor.start(["gone", "same", "other"], in: workspace)
        let changed = RunningSupervisor.configuration(
            ["new", "same", "other"],
            more: ["other": "publishes: [\"WorkDone\"]"]
        )
        try workspace.write("bridge.json5", changed)
        let taken = try await reload()
        #expect(taken.status == .exited(code: 0) && taken.errors.isEmpty, "\(taken.errors)")
        #expect(
            taken.output == [
                #"the configuration was read again: started "new"; stopped "gone"; replaced "other"; left alone "same""#
            ]
        )
        // The supervisor prints the sentence for its own user too.
        let said = taken.output.first ?? ""
        await supervisor.errors.wait { $0.contains("supervisor: \(said)") }
        #expect(supervisor.errors.all.contains { $0.contains("\"new\" is ready") })
        let again = try await reload()
        #expect(again.status == .exited(code: 0))
        #expect(again.output == ["the configuration was read again: nothing has changed"])
        #expect(try await supervisor.terminate().status == .exited(code: 0))
    }

    @Test("a configuration with mistakes is named as check names it, with its status; so is one that is gone")
    func mistakes() async throws {
        let supervisor = try await RunningSupervisor.start(["a"], in: workspace)
        let wrong = """
            { strategie: "one-for-one", workers: [
            { name: "a", executable: "faulty-worker", restart: "allways" },
            { name: "b", executable: "no-such-program" } ] }
            """
        try workspace.write("bridge.json5", wrong)
        let check = try await workspace.run("check", "bridge.json5")
        let notTaken = "supervisor: the configuration was not taken; the workers go on with the one before"
        let mistaken = try await reload()
        #expect(mistaken.status == .exited(code: 78) && mistaken.output.isEmpty)
        #expect(check.errors.count == 3 && mistaken.errors == check.errors + [notTaken])
        try workspace.write(
            "bridge.json5",
            RunningSupervisor.configuration(["a"], more: ["a": "limits: { outbox: \"1MiB\" }"])
        )
        let unchangeable = try await reload()
        #expect(unchangeable.status == .exited(code: 78))
        #expect(unchangeable.errors.first?.contains("cannot change while the bridge runs") == true)
        try workspace.remove("bridge.json5")
        let gone = try await reload()
        #expect(gone.status == .exited(code: 66))
        #expect(gone.errors.first?.hasPrefix("bridge.json5: the configuration cannot be read: ") == true)
        #expect(gone.errors.last == notTaken)
        #expect(try await supervisor.terminate().status == .exited(code: 0))
    }

    @Test("a worker that does not come up is a failure, though the configuration was taken")
    func workerFails() async throws {
        let supervisor = try await RunningSupervisor.start(["a"], in: workspace)
        let bad = #"arguments: ["--misbehave", "bad-version"]"#
        let wanted = RunningSupervisor.configuration(["a", "bad"]).replacing(
            #"name: "bad", executable: "faulty-worker", arguments: ["--misbehave", "none"]"#,
            with: #"name: "bad", executable: "faulty-worker", \#(bad)"#
        )
        try workspace.write("bridge.json5", wanted)
        let result = try await reload()
        #expect(result.status == .exited(code: 69))
        #expect(result.output == [#"the configuration was read again: started "bad"; left alone "a""#])
        #expect(
            result.errors.first?.hasPrefix("supervisor: worker \"bad\" did not become ready: it was given up: ")
                == true,
            "\(result.errors)"
        )
        #expect(try await supervisor.terminate().status == .exited(code: 69))
    }

    @Test("is not waited for longer than it was told, which takes nothing back")
    func late() async throws {
        let supervisor = try await RunningSupervisor.start(["a"], in: workspace)
        let wanted = RunningSupervisor.configuration(["a", "silent"]).replacing(
            #"name: "silent", executable: "faulty-worker", arguments: ["--misbehave", "none"]"#,
            with: #"name: "silent", executable: "faulty-worker", arguments: ["--misbehave", "no-hello"]"#
        )
        try workspace.write("bridge.json5", wanted)
        let late = try await reload("--within", "300ms")
        #expect(late.status == .exited(code: 75) && late.output.isEmpty)
        #expect(late.errors.count == 1)
        #expect(late.errors.first?.hasSuffix("; the configuration may still be taken") == true, "\(late.errors)")
        #expect(try await supervisor.terminate().status == .exited(code: 0))
        let gone = try await reload()
        #expect(gone.status == .exited(code: 69) && gone.errors.first?.contains("is a supervisor running") == true)
    }

    @Test("that waits for another one is refused when the run begins to end, not when the last worker has ended")
    func waitingAtTheEnd() async throws {
        let supervisor = try await RunningSupervisor.start(["a"], in: workspace)
        // The first reload waits for the silent worker; the deaf one, which only SIGKILL ends, holds up the end.
        let wanted = [("deaf", "ignore-sigterm"), ("silent", "no-hello")].reduce(
            RunningSupervisor.configuration(["a", "deaf", "silent"])
        ) { configuration, worker in
            configuration.replacing(
                #"name: "\#(worker.0)", executable: "faulty-worker", arguments: ["--misbehave", "none"]"#,
                with: #"name: "\#(worker.0)", executable: "faulty-worker", arguments: ["--misbehave", "\#(worker.1)"]"#
            )
        }
        try workspace.write("bridge.json5", wanted)
        supervisor.program.hangUp()
        await supervisor.errors.wait { $0.contains { $0.contains("\"deaf\" is ready (process") } }
        let waiting = workspace.start("reload", "--control", "run/s")
        await supervisor.errors.wait {
            $0.contains { $0.contains("\"supervisor reload\"") && $0.hasSuffix("has attached") }
        }
        supervisor.program.terminate()
        let refused = try await waiting.result()
        #expect(refused.output.isEmpty)
        // The command may come so late that the host has ended its link.
        if refused.status != .exited(code: 69) {
            #expect(refused.status == .exited(code: 75))
            #expect(refused.errors == ["supervisor: the configuration was not taken: the supervisor is stopping"])
        }
        supervisor.program.kill()
        #expect(try await supervisor.end().status == .signaled(signal: 9, coreDumped: false))
    }
}
