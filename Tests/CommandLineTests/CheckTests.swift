import BridgeControl
import BridgePlatform
import TestSupport
import Testing

@Suite("supervisor check")
struct CheckTests {
    @Test("says that a right configuration is right", .timeLimit(.minutes(5)))
    func right() async throws {
        let workspace = try Workspace()
        try workspace.write(
            "bridge.json5",
            "{workers: [{name: 'a', executable: 'faulty-worker'}, {name: 'b', executable: 'sh'}]}"
        )
        let result = try await workspace.run("check", "bridge.json5")
        #expect(result.status == .exited(code: 0))
        #expect(result.output == ["bridge.json5: 2 workers, configuration is right"])
        #expect(result.errors == [])
    }

    #if os(Linux)
    @Test(
        "says what this system lacks for a box, be it best effort or not; where it runs, status says it",
        .timeLimit(.minutes(5))
    )
    func lacks() async {
        await #expect(processExitsWith: .success) {
            // As on a kernel without Landlock and without filters, here and in every program that is started.
            try #require(MissingSystemCalls.install())
            let workspace = try Workspace()
            try workspace.write(
                "bridge.json5",
                """
                {control: "run/s", workers: [
                    {name: "open", executable: "faulty-worker", box: {network: false, bestEffort: true}},
                    {name: "strict", executable: "faulty-worker", box: {readOnly: ["/"]}},
                    {name: "limited", executable: "faulty-worker", limits: {openFiles: 64}},
                ]}
                """
            )
            let checked = try await workspace.run("check", "bridge.json5")
            #expect(checked.status == .exited(code: 0) && checked.errors.isEmpty)
            #expect(checked.output.first == "bridge.json5: 3 workers, configuration is right")
            let notes = checked.output.dropFirst().map { $0.split(separator: ": ") }
            #expect(
                notes.map { $0.prefix(2).joined(separator: ": ") } == [
                    "note: on this system the box of worker \"open\" lacks a part",
                    "note: on this system the box of worker \"open\" lacks a part",
                    "note: on this system the box of worker \"strict\" lacks a part",
                    "note: on this system the box of worker \"strict\" lacks a part",
                ]
            )
            #expect(notes.allSatisfy { $0[2].contains(" need") && $0[2].hasSuffix("(ENOSYS)") })

            try workspace.write(
                "bridge.json5",
                """
                {control: "run/s", workers: [
                    {name: "open", executable: "faulty-worker", arguments: ["--misbehave", "none"],
                     box: {network: false, bestEffort: true}},
                ]}
                """
            )
            let bridge = workspace.start("run", "bridge.json5")
            _ = try #require(await bridge.line(with: "is ready"))
            let status = try await workspace.run("status", "--control", "run/s")
            #expect(status.output.contains { $0.contains("  runs without a part of its box: ") }, "\(status.output)")
            bridge.terminate()
            let ended = try await bridge.result()
            #expect(ended.status == .exited(code: 0))
        }
    }
    #endif

    @Test("shows a name harmlessly that a terminal would obey", .timeLimit(.minutes(5)))
    func harmlessName() async throws {
        let workspace = try Workspace()
        let name = "a\u{1B}[31m.json5"
        try workspace.write(name, "{workers: [{name: 'a', executable: 'faulty-worker'}]}")
        let result = try await workspace.run("check", name)
        #expect(result.status == .exited(code: 0))
        #expect(result.output == ["a\\u001b[31m.json5: 1 worker, configuration is right"])
    }

    @Test("names all mistakes at once, with file, line, column and key", .timeLimit(.minutes(5)))
    func mistakes() async throws {
        let workspace = try Workspace()
        try workspace.write("plain", "no program")
        try workspace.write(
            "bridge.json5",
            """
            {
              workers: [
                { name: "a", executable: "sh", subscribe: ["E"], restart: "always" },
                { name: "a", executable: "plain", heartbeat: { every: 5 } },
                { name: "c", executable: "/no/such/worker" },
              ],
              stratgy: "one-for-one",
            }
            """
        )
        let result = try await workspace.run("check", "bridge.json5")
        #expect(result.status == .exited(code: 78))
        #expect(result.output == [])
        let places = result.errors.map { $0.split(separator: ": ").prefix(2).joined(separator: " ") }
        #expect(
            places == [
                "bridge.json5:3:36 workers[0].subscribe",
                "bridge.json5:3:63 workers[0].restart",
                "bridge.json5:4:13 workers[1].name",
                "bridge.json5:4:30 workers[1].executable",
                "bridge.json5:4:59 workers[1].heartbeat.every",
                "bridge.json5:5:30 workers[2].executable",
                "bridge.json5:7:3 stratgy",
            ]
        )
        #expect(result.errors[0].hasSuffix("unknown key \"subscribe\"; did you mean \"subscribes\"?"))
        #expect(result.errors[3].contains("which is no file that can be executed"))
    }

    @Test("says that a file is not there", .timeLimit(.minutes(5)))
    func missing() async throws {
        let result = try await Workspace().run("check", "nothing.json5")
        #expect(result.status == .exited(code: 66))
        #expect(result.errors == ["nothing.json5: the configuration cannot be read: No such file or directory"])
    }

    @Test("and its siblings answer a wrong command line with status 64", .timeLimit(.minutes(5)))
    func usage() async throws {
        let workspace = try Workspace()
        for arguments in [[], ["rnu"], ["run"], ["status", "x"], ["check", "a", "b"]] {
            let result = try await SupervisorProgram.run(arguments, in: workspace.path)
            #expect(result.status == .exited(code: 64))
            #expect(result.errors.count == 2 && result.output.isEmpty)
        }
        let help = try await workspace.run("run", "--help")
        #expect(help.status == .exited(code: 0))
        #expect(help.output.contains("Exit statuses:") && help.errors.isEmpty)
    }
}
