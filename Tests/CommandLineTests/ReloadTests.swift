import BridgePlatform
import Testing

@Suite("supervisor run, told to read its configuration again")
struct ReloadTests {
    private static func worker(_ name: String, _ misbehaviour: String = "none", more: String = "") -> String {
        """
        { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "\(misbehaviour)"],
          subscribes: ["WorkRequested"], \(Workspace.workerEnvironment), handshake: "4m", heartbeat: { every: "1m" },
          shutdown: { grace: "4m" } \(more) },
        """
    }

    private static func configuration(_ workers: String..., keys: String = "") -> String {
        "{ \(keys) workers: [\(workers.joined(separator: "\n"))] }"
    }

    /// Runs a configuration whose workers become ready; takes the `steps` one after the other, each when the line has
    /// come that the step before waits for.
    private func run(
        _ workspace: Workspace,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        steps: [(line: String, act: @Sendable (SupervisorProgram) throws -> Void)]
    ) async throws -> SupervisorProgram.Result {
        let taken = Count()
        return try await SupervisorProgram.run(
            ["run", "bridge.json5"] + arguments,
            in: workspace.path,
            environment: environment,
            onError: { program, line in
                guard taken.value < steps.count, line.contains(steps[taken.value].line) else { return }
                let step = steps[taken.increment() - 1]
                do { try step.act(program) } catch { Issue.record(error) }
            }
        )
    }

    private func reloading(
        _ workspace: Workspace,
        to text: String
    ) -> @Sendable (SupervisorProgram) throws -> Void {
        { program in
            try workspace.write("bridge.json5", text)
            program.hangUp()
        }
    }

    @Test("starts what is new, stops what is gone, replaces what has changed, and says so", .timeLimit(.minutes(5)))
    func right() async throws {
        let workspace = try Workspace()
        try workspace.write(
            "bridge.json5",
            Self.configuration(Self.worker("gone"), Self.worker("same"), Self.worker("other"))
        )
        let wanted = Self.configuration(
            Self.worker("new"),
            Self.worker("same"),
            Self.worker("other", more: ", publishes: [\"WorkDone\"]")
        )
        let result = try await run(
            workspace,
            steps: [
                ("is ready", { _ in }), ("is ready", { _ in }), ("is ready", reloading(workspace, to: wanted)),
                ("was read again", reloading(workspace, to: wanted)), ("was read again", { $0.terminate() }),
            ]
        )
        #expect(result.status == .exited(code: 0))
        let said = result.errors.filter { $0.contains("was read again") }
        #expect(
            said == [
                #"supervisor: the configuration was read again: started "new"; stopped "gone"; replaced "other"; left alone "same""#,
                "supervisor: the configuration was read again: nothing has changed",
            ]
        )
        #expect(result.errors.count { $0.hasPrefix("supervisor: worker \"same\" is ready") } == 1)
        #expect(result.errors.count { $0.hasPrefix("supervisor: worker \"other\" is ready") } == 2)
        #expect(
            result.errors.contains { $0.hasPrefix("supervisor: worker \"gone\"") && $0.hasSuffix("as it was asked to") }
        )
    }

    @Test(
        "a configuration with mistakes is not taken: all are named as check names them, and the workers go on",
        .timeLimit(.minutes(5))
    )
    func wrong() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(Self.worker("a")))
        let wrong = """
            { strategie: "one-for-one", workers: [
            { name: "a", executable: "faulty-worker", restart: "allways" },
            { name: "b", executable: "no-such-program" }, { name: "a", executable: "faulty-worker" } ] }
            """
        try workspace.write("wrong.json5", wrong)
        let check = try await workspace.run("check", "wrong.json5")
        #expect(check.errors.count == 4)
        let result = try await run(
            workspace,
            steps: [
                ("is ready", reloading(workspace, to: wrong)), ("was not taken", { $0.terminate() }),
            ]
        )
        #expect(result.status == .exited(code: 0))
        let expected = check.errors.map { "bridge" + $0.dropFirst("wrong".count) }
        #expect(result.errors.filter { $0.hasPrefix("bridge.json5") } == expected)
        #expect(
            result.errors.contains("supervisor: the configuration was not taken; the workers go on with the one before")
        )
        #expect(result.errors.count { $0.contains("\"a\" is ready") } == 1)
    }

    @Test("what cannot change while the workers run is named, and nothing is done", .timeLimit(.minutes(5)))
    func unchangeable() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(Self.worker("a")))
        let other = Self.configuration(
            Self.worker("a", more: ", limits: { outbox: \"1MiB\" }"),
            Self.worker("b"),
            keys:
                #"strategy: "one-for-all", deadLetters: { letters: 7 }, intensity: { restarts: 1 }, startOrder: "in-sequence", control: "s","#
        )
        let result = try await run(
            workspace,
            steps: [("is ready", reloading(workspace, to: other)), ("was not taken", { $0.terminate() })]
        )
        #expect(result.status == .exited(code: 0))
        let keys = ["strategy", "intensity", "startOrder", "deadLetters", "control"]
        #expect(
            result.errors.filter { $0.hasPrefix("bridge.json5: ") }
                == keys.map {
                    "bridge.json5: \($0): it cannot change while the workers run; restart the supervisor to change it"
                } + [
                    """
                    bridge.json5: worker "a": its limits, but for the deadline of handlers, cannot change while the bridge runs
                    """
                ]
        )
        #expect(!result.errors.contains { $0.contains("worker \"b\"") })
    }

    @Test("a file that is gone is named, and the workers go on", .timeLimit(.minutes(5)))
    func missing() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(Self.worker("a")))
        let result = try await run(
            workspace,
            steps: [
                (
                    "is ready",
                    { program in
                        try workspace.remove("bridge.json5")
                        program.hangUp()
                    }
                ),
                ("was not taken", { $0.terminate() }),
            ]
        )
        #expect(result.status == .exited(code: 0))
        #expect(result.errors.contains { $0.hasPrefix("bridge.json5: the configuration cannot be read: ") })
    }

    @Test("a new worker that does not come up is named, and the others are there", .timeLimit(.minutes(5)))
    func newOneFails() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(Self.worker("a")))
        let wanted = Self.configuration(Self.worker("a"), Self.worker("bad", "bad-version"), Self.worker("b"))
        let result = try await run(
            workspace,
            steps: [("is ready", reloading(workspace, to: wanted)), ("was read again", { $0.terminate() })]
        )
        #expect(result.status == .exited(code: 69))
        #expect(
            result.errors.contains {
                $0.hasPrefix("supervisor: worker \"bad\" did not become ready: it was given up: ")
            }
        )
        #expect(
            result.errors.contains(
                #"supervisor: the configuration was read again: started "bad", "b"; left alone "a""#
            )
        )
    }

    @Test("all workers may be others: the run does not end in between", .timeLimit(.minutes(5)))
    func allOthers() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(Self.worker("a")))
        let result = try await run(
            workspace,
            steps: [
                ("is ready", reloading(workspace, to: Self.configuration(Self.worker("b")))),
                ("was read again", { $0.terminate() }),
            ]
        )
        #expect(result.status == .exited(code: 0))
        #expect(result.errors.contains { $0.contains(#"started "b"; stopped "a""#) })
    }

    @Test("a request that comes while the file is taken is answered behind that", .timeLimit(.minutes(5)))
    func again() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(Self.worker("a"), Self.worker("b")))
        let second = Self.configuration(Self.worker("a"), Self.worker("c"))
        let third = Self.configuration(Self.worker("a"), Self.worker("c"), Self.worker("d"))
        let result = try await run(
            workspace,
            steps: [
                ("is ready", { _ in }), ("is ready", reloading(workspace, to: second)),
                ("as it was asked to", reloading(workspace, to: third)), ("was read again", { _ in }),
                ("was read again", { $0.terminate() }),
            ]
        )
        #expect(result.status == .exited(code: 0))
        #expect(
            result.errors.filter { $0.contains("was read again") }.map {
                $0.split(separator: ": ").last.map(String.init)
            } == [
                #"started "c"; stopped "b"; left alone "a""#, #"started "d"; left alone "a", "c""#,
            ]
        )
    }

    @Test("an end that is asked for meanwhile comes first", .timeLimit(.minutes(5)))
    func endMeanwhile() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(Self.worker("a"), Self.worker("b")))
        let wanted = Self.configuration(Self.worker("a"), Self.worker("silent", "no-hello"))
        let result = try await run(
            workspace,
            steps: [
                ("is ready", { _ in }), ("is ready", reloading(workspace, to: wanted)),
                ("as it was asked to", { $0.terminate() }),
            ]
        )
        #expect(result.status == .exited(code: 0))
        #expect(!result.errors.contains { $0.contains("was read again") || $0.contains("not taken") })
    }

    @Test("a request that comes behind the end's is not answered", .timeLimit(.minutes(5)))
    func afterTheEnd() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(Self.worker("a")))
        let result = try await run(
            workspace,
            steps: [
                ("is ready", { $0.terminate() }),
                ("stopping: the workers finish what they have", reloading(workspace, to: "{")),
            ]
        )
        #expect(result.status == .exited(code: 0))
        #expect(!result.errors.contains { $0.contains("taken") || $0.hasPrefix("bridge.json5") })
    }

    @Test(
        "the service manager is told when it begins and when the bridge is ready again, also if it is refused",
        .timeLimit(.minutes(5))
    )
    func told() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(Self.worker("a")))
        let manager = try Manager(at: "\(workspace.path)/notify")
        let thread = try manager.listen { _ in }
        let wanted = Self.configuration(Self.worker("a"), Self.worker("b"))
        let began = MonotonicClock.now() / 1_000
        let result = try await SupervisorProgram.run(
            ["run", "bridge.json5"],
            in: workspace.path,
            environment: ["NOTIFY_SOCKET": "\(workspace.path)/notify"],
            onError: ReloadTests.afterEachReadiness(manager, workspace, [wanted, "{"])
        )
        manager.end()
        thread.join()
        #expect(result.status == .exited(code: 0))
        let lines = manager.received
        let signs = lines.filter { ["READY=1", "RELOADING=1", "STOPPING=1"].contains($0) }
        #expect(signs == ["READY=1", "RELOADING=1", "READY=1", "RELOADING=1", "READY=1", "STOPPING=1"])
        #expect(lines.contains("STATUS=2 of 2 workers are ready"))
        #expect(lines.contains("STATUS=the last configuration was not taken; 2 of 2 workers are ready"))
        let times = lines.filter { $0.hasPrefix("MONOTONIC_USEC=") }.compactMap { UInt64($0.dropFirst(15)) }
        #expect(times.count == 2 && times[0] > began && times[1] > times[0])
        for (place, line) in lines.enumerated() where line == "RELOADING=1" {
            #expect(lines[place + 1].hasPrefix("MONOTONIC_USEC="))
        }
    }

    /// Writes the next text and sends SIGHUP when the bridge is ready and after each reload; then asks for the end.
    private static func afterEachReadiness(
        _ manager: Manager,
        _ workspace: Workspace,
        _ texts: [String]
    ) -> @Sendable (SupervisorProgram, String) -> Void {
        let reloads = Count()
        return { program, line in
            guard line.contains("is ready") && reloads.value == 0 || line.contains("the configuration was ") else {
                return
            }
            // The manager learns of the bridge's readiness after the worker's.
            manager.wait { $0.count { $0 == "READY=1" } == reloads.value + 1 }
            guard reloads.value < texts.count else { return program.terminate() }
            do {
                try workspace.write("bridge.json5", texts[reloads.increment() - 1])
                program.hangUp()
            } catch {
                Issue.record(error)
            }
        }
    }
}
