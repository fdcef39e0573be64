import BridgePlatform
import Foundation
import TestSupport
import Testing

/// `supervisor run --dashboard`, which adds the worker of `Fixtures/dashboard-worker`.
@Suite("supervisor run --dashboard", .serialized, .timeLimit(.minutes(5)))
struct DashboardOptionTests {
    private static let taken = """
        worker "dashboard": found a worker of the name that --dashboard takes; expected another name, or no --dashboard
        """

    /// Writes a configuration with workers of these names, and without a control socket.
    private func write(_ workers: String..., in workspace: Workspace) throws {
        let bridge = Workspace.bridge(workers: workers).replacingOccurrences(of: "control: \"run/s\",", with: "")
        try workspace.write("bridge.json5", bridge)
    }

    /// The address of the page, from standard error.
    private func address(_ supervisor: RunningProgram) async throws -> String {
        let line = try #require(await supervisor.line(with: "the page is at "), "\(supervisor.lines)")
        return try String(#require(line.split(separator: " ").last))
    }

    /// Fetches a page with `python3`, and returns the output.
    private func read(_ address: String, in workspace: Workspace) async throws -> SupervisorProgram.Result {
        let program = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
        return try await SupervisorProgram.run(
            ["python3", "-c", program, address],
            of: "/usr/bin/env",
            in: workspace.path
        )
    }

    @Test("serves the page without anything else, keeps it at a reload, and leaves nothing behind")
    func serves() async throws {
        let workspace = try Workspace()
        try write("worker", in: workspace)
        let directory = "\(workspace.path)/own"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let supervisor = RunningProgram(
            ["run", "bridge.json5", "--dashboard", "0"],
            in: workspace.path,
            environment: ["TMPDIR": directory]
        )
        _ = try #require(await supervisor.line(with: "\"dashboard\" (process"), "\(supervisor.lines)")
        _ = try #require(await supervisor.line(with: "has attached"), "\(supervisor.lines)")
        let page = try await read(address(supervisor), in: workspace)
        #expect(page.output.first == "<!doctype html>", "\(page.errors)")
        let made = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(made)")
        #expect(attributes[.posixPermissions] as? Int == 0o700)

        try write("worker", "second", in: workspace)
        supervisor.hangUp()
        let reloaded = try #require(await supervisor.line(with: "was read again"), "\(supervisor.lines)")
        #expect(reloaded.hasSuffix(#"started "second"; left alone "worker", "dashboard""#), "\(reloaded)")
        #expect(try await read(address(supervisor), in: workspace).output.first == "<!doctype html>")
        try write("worker", "dashboard", in: workspace)
        supervisor.hangUp()
        _ = try #require(await supervisor.line(with: Self.taken), "\(supervisor.lines)")
        _ = try #require(await supervisor.line(with: "the configuration was not taken"), "\(supervisor.lines)")

        supervisor.terminate()
        #expect(try await supervisor.result().status == .exited(code: 0), "\(supervisor.lines)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
    }

    @Test(
        "uses the control socket that there is, and ends with the last other worker, even after `supervisor stop`",
        arguments: [false, true]
    )
    func endsWithTheOthers(isStopped: Bool) async throws {
        let workspace = try Workspace()
        try write("worker", in: workspace)
        let supervisor = workspace.start("run", "bridge.json5", "--control", "run/s", "--dashboard=0")
        let metrics = try await read(address(supervisor) + "metrics", in: workspace)
        #expect(metrics.output.contains { $0.hasPrefix("event_bridge_dashboard_") }, "\(metrics.errors)")
        let status = try await workspace.run("status", "--control", "run/s")
        #expect(status.output.contains { $0.contains("dashboard") }, "\(status.output)")
        let bridge = try String(contentsOfFile: "\(workspace.path)/bridge.json5", encoding: .utf8)
        try workspace.write(
            "bridge.json5",
            bridge.replacing("subscribes:", with: "restart: \"temporary\", subscribes:")
        )
        supervisor.hangUp()
        _ = try #require(await supervisor.line(with: "replaced \"worker\""), "\(supervisor.lines)")
        if isStopped {
            let stopped = try await workspace.run("stop", "dashboard", "--control", "run/s")
            #expect(stopped.status == .exited(code: 0), "\(stopped.errors)")
        }
        #expect(
            try await workspace.run("signal", "worker", "TERM", "--control", "run/s").status == .exited(code: 0)
        )
        #expect(try await supervisor.result().status == .exited(code: 0), "\(supervisor.lines)")
    }

    @Test("restarts and is given up alone, whatever the strategy; the others go on, and it can be started again")
    func givenUp() async throws {
        let workspace = try Workspace()
        // The second end is one too many, however long the starts take.
        let rules = #"strategy: "one-for-all", intensity: { restarts: 1, within: "1h" }"#
        try workspace.write("bridge.json5", "{ \(rules), \(Workspace.bridge().dropFirst())")
        let supervisor = workspace.start("run", "bridge.json5", "--dashboard", "0")
        var ready = ""
        for _ in 1...2 {
            // The line of another start names another process.
            let before = ready
            let line = await supervisor.line { $0.contains("worker \"dashboard\" is ready") && $0 != before }
            ready = try #require(line, "\(supervisor.lines)")
            let killed = try await workspace.run("signal", "dashboard", "KILL", "--control", "run/s")
            #expect(killed.status == .exited(code: 0), "\(killed.errors)")
        }
        _ = try #require(await supervisor.line(with: "worker \"dashboard\" was given up"), "\(supervisor.lines)")
        let event = #"{"number": 1, "text": ""}"#
        let done = try await workspace.run("publish", "WorkRequested", event, "--control", "run/s")
        #expect(done.status == .exited(code: 0), "\(done.errors)")
        _ = try #require(await supervisor.line(with: "worker \"worker\" is ready"), "\(supervisor.lines)")
        #expect(supervisor.lines.filter { $0.contains("worker \"worker\" is ready") }.count == 1, "\(supervisor.lines)")
        let restarted = try await workspace.run("restart", "dashboard", "--control", "run/s")
        #expect(restarted.status == .exited(code: 0), "\(restarted.errors)")
        supervisor.terminate()
        // The status of any run in which a worker was given up.
        #expect(try await supervisor.result().status == .exited(code: 69), "\(supervisor.lines)")
    }

    @Test("is refused beside a worker of its name")
    func nameIsTaken() async throws {
        let workspace = try Workspace()
        try write("dashboard", in: workspace)
        let result = try await workspace.run("run", "bridge.json5", "--dashboard")
        #expect(result.status == .exited(code: 78))
        #expect(result.errors == ["bridge.json5: \(Self.taken)"])
    }

    @Test("says where its program was looked for if it is not there")
    func programIsMissing() async throws {
        let workspace = try Workspace()
        try write("worker", in: workspace)
        let copy = "\(workspace.path)/bin/supervisor"
        try FileManager.default.createDirectory(atPath: "\(workspace.path)/bin", withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: SupervisorProgram.products() + "/supervisor", toPath: copy)
        let result = try await SupervisorProgram.run(
            ["run", "bridge.json5", "--dashboard"],
            of: copy,
            in: workspace.path
        )
        #expect(result.status == .exited(code: 78))
        let sentence = try #require(result.errors.last)
        #expect(sentence.hasPrefix("--dashboard: the program of the dashboard is not there; looked for /"))
        #expect(sentence.contains("/bin/dashboard-worker/worker.py, then /"))
        #expect(sentence.hasSuffix("/share/event-bridge/dashboard-worker/worker.py"))
    }
}
