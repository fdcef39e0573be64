import BridgeControl
import BridgePlatform
import Foundation
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
            // As on a kernel without Landlock and without filters, here and in every program that this process starts.
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

    @Test(
        "names what would keep a worker from starting: directories, files of its box, scripts",
        .timeLimit(.minutes(5))
    )
    func filesOfWorkers() async throws {
        let workspace = try Workspace()
        try workspace.write("plain", "")
        for (name, text) in [
            ("right.sh", "#! /bin/sh -e\nexit 0\n"), ("ending.sh", "#!/bin/sh\r\nexit 0\r\n"),
            ("missing.sh", "#!/no/such\nexit 0\n"), ("bare.sh", "exit 0\n"),
        ] {
            _ = try workspace.program(name, text)
        }
        try workspace.write(
            "bridge.json5",
            """
            {workers: [
              {name: "a", executable: "right.sh", directory: "/", box: {readOnly: ["plain"]}},
              {name: "b", executable: "ending.sh"},
              {name: "c", executable: "missing.sh"},
              {name: "d", executable: "bare.sh"},
              {name: "e", executable: "sh", directory: "/no/such"},
              {name: "f", executable: "sh", directory: "/dev/null"},
              {name: "g", executable: "sh", box: {readOnly: ["plain", "nothing"], writable: ["/no/such"]}},
            ]}
            """
        )
        let found = try await workspace.run("check", "bridge.json5")
        #expect(found.status == .exited(code: 78))
        let here = workspace.path
        let sentences = [
            """
            2:26: workers[1].executable: found \(here)/ending.sh, whose interpreter "/bin/sh\\r" is no file that can be \
            executed; its first line ends with a carriage return; expected a program
            """,
            """
            4:26: workers[2].executable: found \(here)/missing.sh, whose interpreter "/no/such" is no file that can be \
            executed; expected a program
            """,
            """
            5:26: workers[3].executable: found \(here)/bare.sh, a text without a first line such as "#!/bin/sh"; expected \
            a program
            """,
            "6:43: workers[4].directory: there is no directory \"/no/such\", expected one",
            "7:43: workers[5].directory: found \"/dev/null\", which is no directory; expected one",
            "8:49: workers[6].box.readOnly: there is no file or directory \"\(here)/nothing\", expected one",
            "8:80: workers[6].box.writable: there is no file or directory \"/no/such\", expected one",
        ]
        #expect(found.errors.map { $0.drop { $0 != " " } } == sentences.map { $0.drop { $0 != " " } })
        #expect(found.errors.allSatisfy { $0.hasPrefix("bridge.json5:") })
    }

    @Test(
        "names a path of the control socket that is too long, and what it sees of other mistakes",
        .timeLimit(.minutes(5))
    )
    func control() async throws {
        let workspace = try Workspace()
        let long = String(repeating: "x", count: 200)
        try workspace.write("bridge.json5", "{control: '\(long)', workers: [{name: 'a', executable: 'sh'}]}")
        let tooLong = try await workspace.run("check", "bridge.json5")
        #expect(tooLong.status == .exited(code: 78))
        #expect(tooLong.errors.count == 1)
        #expect(tooLong.errors.first?.contains("control: found a path of ") == true, "\(tooLong.errors)")

        try workspace.write(
            "bridge.json5",
            "{control: 's', workers: [{name: 'a', executable: 'sh', publishes: ['BridgeStopRequested', 'A']}]}"
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: workspace.path)
        let noted = try await workspace.run("check", "bridge.json5")
        #expect(noted.status == .exited(code: 0) && noted.errors.isEmpty)
        #expect(
            noted.output.dropFirst() == [
                """
                note: worker "a" publishes BridgeStopRequested, which no worker may publish: only hosts and clients \
                exchange it
                """,
                """
                note: the control socket's directory \(workspace.path) is open to other users (755); expected one \
                that only its user may enter (700)
                """,
            ]
        )
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
