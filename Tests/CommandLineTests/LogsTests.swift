import BridgePlatform
import Testing

@Suite("supervisor logs", .serialized, .timeLimit(.minutes(5)))
struct LogsTests {
    /// Runs `body` while a supervisor runs with workers that print numbered lines when they are asked to.
    private func withBridge(
        _ workers: String,
        ready: Int = 1,
        _ body: (Workspace, RunningProgram) async throws -> Void
    ) async throws {
        let workspace = try Workspace()
        let program = try workspace.program("worker", Self.worker)
        let configuration = "{ control: \"run/s\", workers: [\(workers.replacing("PROGRAM", with: program))] }"
        try workspace.write("bridge.json5", configuration)
        let bridge = workspace.start("run", "bridge.json5")
        _ = try #require(await bridge.line(with: "is ready"))
        for number in 1..<max(2, ready) where number < ready {
            _ = try #require(await bridge.line { $0.contains("render.\(number + 1)\" is ready") })
        }
        try await body(workspace, bridge)
        bridge.kill()
        _ = try await bridge.result()
    }

    /// A worker that prints the text of each Print, to standard error if the text begins with a mark; the line comes
    /// before the answer.
    private static let worker = #"""
        #!/usr/bin/env bash
        link=$EVENT_BRIDGE_FD
        say() { printf '%s\n' "$1" >&"$link"; }
        echo "start $EVENT_BRIDGE_NAME"
        say "{\"bridge\":\"hello\",\"cookie\":\"$EVENT_BRIDGE_COOKIE\",\"wants\":[\"Print\"]}"
        say '{"bridge":"ready"}'
        while IFS= read -r line <&"$link"; do
            case $line in
                '{"bridge":"drain"'*) say '{"bridge":"goodbye","reason":"shutdown"}'; exit 0 ;;
                '{"bridge":'*) ;;
                *)
                    [[ $line =~ \"sequence\":([0-9]+).*\"text\":\"([^\"]*)\".*\"times\":([0-9]+) ]]
                    sequence=${BASH_REMATCH[1]} text=${BASH_REMATCH[2]} times=${BASH_REMATCH[3]}
                    for ((number = 1; number <= times; number++)); do
                        if [[ $text == !* ]]; then echo "$text $number" >&2; else echo "$text $number"; fi
                    done
                    say "{\"bridge\":\"ack\",\"sequence\":$sequence}"
                    ;;
            esac
        done
        """#

    private static func worker(_ name: String, more: String = "") -> String {
        """
        { name: "\(name)", executable: "PROGRAM", subscribes: ["Print"], handshake: "4m", heartbeat: { every: "1m" },
          shutdown: { grace: "4m" } \(more) },
        """
    }

    private func print(_ text: String, times: Int = 1, in workspace: Workspace) async throws {
        let result = try await workspace.run(
            "publish",
            "--control",
            "run/s",
            "Print",
            "{\"text\": \"\(text)\", \"times\": \(times)}"
        )
        #expect(result.status == .exited(code: 0), "\(result.errors)")
    }

    private func logs(_ arguments: String..., in workspace: Workspace) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(["logs", "--control", "run/s"] + arguments, in: workspace.path)
    }

    /// Lines without the times before them.
    private func untimed(_ lines: [String]) -> [String] { lines.map { String($0.dropFirst(14)) } }

    @Test("shows the last lines of all starts, of both streams, each with its time")
    func last() async throws {
        try await withBridge(Self.worker("store")) { workspace, bridge in
            try await print("one", times: 2, in: workspace)
            _ = try #require(await bridge.line(with: "one 2"))
            try await print("!two", in: workspace)
            _ = try #require(await bridge.line(with: "!two 1"))
            let restarted = try await workspace.run("restart", "store", "--control", "run/s")
            #expect(restarted.status == .exited(code: 0))
            try await print("three", in: workspace)
            _ = try #require(await bridge.line(with: "three 1"))
            let result = try await logs("store", in: workspace)
            #expect(result.status == .exited(code: 0) && result.errors.isEmpty, "\(result.errors)")
            let printed = ["start store", "one 1", "one 2", "!two 1", "start store", "three 1"]
            #expect(untimed(result.output) == printed)
            #expect(result.output.allSatisfy { $0.prefix(14).wholeMatch(of: #/\d\d:\d\d:\d\d\.\d\d\d  /#) != nil })
        }
    }

    @Test("goes on with what is printed from then on, once each, and ends with its supervisor")
    func follow() async throws {
        try await withBridge(Self.worker("store")) { workspace, bridge in
            try await print("old", times: 3, in: workspace)
            _ = try #require(await bridge.line(with: "old 3"))
            let following = workspace.start("logs", "store", "--follow", "--control", "run/s")
            _ = try #require(await following.line(with: "old 3"))
            try await print("new", times: 200, in: workspace)
            _ = try #require(await following.line(with: "new 200"))
            try await print("!newer", in: workspace)
            _ = try #require(await following.line(with: "!newer 1"))
            bridge.kill()
            let result = try await following.result()
            #expect(result.status == .exited(code: 69) && result.errors.count == 1, "\(result.errors)")
            let printed = (1...3).map { "old \($0)" } + (1...200).map { "new \($0)" } + ["!newer 1"]
            #expect(untimed(result.output) == ["start store"] + printed)
        }
    }

    @Test("an end that is asked for is a success")
    func ended() async throws {
        try await withBridge(Self.worker("store")) { workspace, _ in
            let following = workspace.start("logs", "store", "--follow", "--control", "run/s")
            _ = try #require(await following.line(with: "start store"))
            following.terminate()
            #expect(try await following.result().status == .exited(code: 0))
        }
    }

    @Test("ends with 0 when its reader goes away, also one that reads from a socket")
    func readerGone() async throws {
        try await withBridge(Self.worker("store")) { workspace, _ in
            // Nothing watches the reader of a socket: the next line shows that it is gone.
            let reader = """
                import socket, subprocess, sys
                here, there = socket.socketpair()
                logs = subprocess.Popen(sys.argv[1:], stdout=there)
                there.close()
                while b"\\n" not in here.recv(4096): pass
                here.close()
                print("gone", file=sys.stderr, flush=True)
                print("ended", logs.wait(), file=sys.stderr, flush=True)
                """
            let program = try SupervisorProgram.products() + "/supervisor"
            let following = RunningProgram(
                ["python3", "-c", reader, program, "logs", "store", "--follow", "--control", "run/s"],
                of: "/usr/bin/env",
                in: workspace.path
            )
            _ = try #require(await following.line(with: "gone"))
            try await print("late", in: workspace)
            #expect(await following.line { $0.hasPrefix("ended ") } == "ended 0")
            _ = try await following.result()
        }
    }

    @Test("a pool's name stands for all its members, in the order of their lines, also of those that follow")
    func pool() async throws {
        let pool = Self.worker("render", more: ", pool: { members: 2 }")
        try await withBridge(pool, ready: 2) { workspace, bridge in
            // Two pipes have no order between them.
            for name in ["render.1", "render.2"] {
                _ = try #require(await bridge.line(with: "[\(name)] start \(name)"))
            }
            for number in 1...4 {
                try await print("job\(number)", in: workspace)
                _ = try #require(await bridge.line(with: "job\(number) 1"))
            }
            let result = try await logs("render", in: workspace)
            #expect(result.status == .exited(code: 0), "\(result.errors)")
            let lines = untimed(result.output)
            #expect(Set(lines.prefix(2)).isSubset(of: ["[render.1] start render.1", "[render.2] start render.2"]))
            #expect(
                lines.filter { $0.contains("job") }.map { String($0.dropFirst(11)) } == (1...4).map { "job\($0) 1" }
            )
            let member = try await logs("render.1", in: workspace)
            #expect(untimed(member.output).first == "start render.1")
            let following = workspace.start("logs", "render", "--follow", "--control", "run/s")
            _ = try #require(await following.line(with: "job4 1"))
            try await print("later", in: workspace)
            _ = try #require(await following.line { $0.contains("] later 1") })
            following.terminate()
            #expect(try await following.result().status == .exited(code: 0))
        }
    }

    @Test("a worker that is down still has its lines; one that is not there is named, with the nearest name")
    func down() async throws {
        try await withBridge(Self.worker("store")) { workspace, bridge in
            _ = try #require(await bridge.line(with: "] start store"))
            let stopped = try await workspace.run("stop", "store", "--control", "run/s")
            #expect(stopped.status == .exited(code: 0))
            let result = try await logs("store", in: workspace)
            #expect(untimed(result.output) == ["start store"])
            let unknown = try await logs("stoer", in: workspace)
            #expect(unknown.status == .exited(code: 64) && unknown.output.isEmpty)
            #expect(unknown.errors == ["supervisor: there is no worker \"stoer\"; did you mean \"store\"?"])
        }
    }
}
