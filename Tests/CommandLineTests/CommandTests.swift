import BridgeClient
import BridgeControl
import BridgePlatform
import BridgeProtocol
import CBOR
import DomainEvents
import Foundation
import Supervision
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("Subcommands that speak to a running supervisor", .serialized, .timeLimit(.minutes(5)))
struct CommandTests {
    private let workspace: Workspace

    init() throws {
        workspace = try Workspace()
    }

    private func command(_ words: String...) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(words + ["--control", "run/s"], in: workspace.path)
    }

    /// The report that a client of its own gets.
    private func report() async throws -> BridgeReport {
        let client = try await BridgeClient.connect(to: workspace.path + "/run/s", publisher: EventPublisher())
        let report = try await client.status()
        await client.close()
        return report
    }

    /// The report once the host has forgotten earlier clients: their callers may learn of their ends earlier.
    private func alone(_ told: () async throws -> BridgeReport) async throws -> BridgeReport {
        var report = try await told()
        while report.clients.count > 1, !Task.isCancelled { report = try await told() }
        return report
    }

    @Test("status and metrics tell of each worker; the socket may be named by the environment")
    func status() async throws {
        let supervisor = try await RunningSupervisor.start(["store", "canvas"], in: workspace)
        let table = try await command("status")
        #expect(table.status == .exited(code: 0) && table.errors.isEmpty)
        #expect(table.output.first?.hasPrefix("supervisor, process ") == true)
        #expect(table.output.first?.contains("2 of 2 workers ready, 1 client") == true)
        #expect(table.output.count == 5)
        #expect(table.output.last?.hasPrefix("canvas") == true && table.output.last?.contains("  ready  ") == true)
        #expect(table.output[2].contains("MEMORY") && !table.output.joined().contains("\u{1B}"))
        func asJSON() async throws -> BridgeReport {
            let json = try await SupervisorProgram.run(
                ["status", "--json"],
                in: workspace.path,
                environment: ["EVENT_BRIDGE_CONTROL": "run/s"]
            )
            #expect(json.output.count == 1)
            return try JSONDecoder().decode(BridgeReport.self, from: Data(try #require(json.output.first).utf8))
        }
        let told = try await alone(asJSON)
        #expect(told.workers.map(\.name) == ["store", "canvas"])
        #expect(told.workers.allSatisfy { $0.state == "ready" && $0.residentBytes ?? 0 > 1 << 16 })
        #expect(told.clients.map(\.title) == ["supervisor status"])
        #expect(told.clients.map(\.user) == [CurrentProcess.user])
        let bad = try await command("status", "--only-bad")
        #expect(bad.status == .exited(code: 0) && bad.output.count == 1 && bad.errors.isEmpty, "\(bad.output)")
        let metrics = try await command("metrics")
        #expect(metrics.output.contains(#"event_bridge_worker_ready{worker="store"} 1"#))
        #expect(metrics.output.contains("# TYPE event_bridge_worker_restarts_total counter"))
        let result = try await supervisor.terminate()
        #expect(result.status == .exited(code: 0))
        // A command is no event of the bridge's users.
        #expect(result.output.isEmpty)
    }

    @Test("the only worker is stopped and started again, the supervisor lives on, and stop ends it")
    func stopAndRestart() async throws {
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let stopped = try await command("stop", "store")
        #expect(stopped.status == .exited(code: 0) && stopped.output.isEmpty && stopped.errors.isEmpty)
        #expect(try await report().workers.map(\.state) == ["stopped"])
        let restarted = try await command("restart", "store")
        #expect(restarted.status == .exited(code: 0) && restarted.errors.isEmpty)
        let worker = try #require(try await report().workers.first)
        #expect(worker.state == "ready" && worker.starts == 2 && worker.restarts == 0)
        for name in ["stop", "restart"] {
            let unknown = try await command(name, "stoer")
            #expect(unknown.status == .exited(code: 64))
            #expect(unknown.errors == ["supervisor: there is no worker \"stoer\"; did you mean \"store\"?"])
        }
        let ended = try await command("stop")
        #expect(ended.status == .exited(code: 0) && ended.errors.isEmpty, "\(ended.errors)")
        let result = try await supervisor.end()
        #expect(result.status == .exited(code: 0))
        #expect(result.errors.contains("supervisor: stopping: the workers finish what they have"))
        #expect(result.errors.contains { $0.contains("exited with status 0, as it was asked to") })
    }

    @Test("stop returns when the supervisor's process has ended, not at its goodbye")
    func stopWaits() async throws {
        // A service manager that takes nothing: after its goodbye the supervisor still waits a second for it.
        let path = workspace.path + "/notify"
        let manager = try Manager(at: path)
        let socket = try #require(ServiceSocket(name: path))
        await onThreads(1) { _ in while (try? socket.send("X=1")) != nil {} }
        let environment = ["NOTIFY_SOCKET": path]
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace, environment: environment)
        let process = try OtherProcess(try await report().pid)
        #expect(!process.ends(withinMilliseconds: 0))
        let stopped = try await command("stop")
        #expect(stopped.status == .exited(code: 0) && stopped.errors.isEmpty, "\(stopped.errors)")
        #expect(process.ends(withinMilliseconds: 0))
        #expect(try await supervisor.end().status == .exited(code: 0))
        withExtendedLifetime(manager) {}
    }

    @Test("a restart of a worker that does not come up ends with status 69 and says why")
    func givenUp() async throws {
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        // From its second start on, the worker has no program to run.
        let link = workspace.path + "/gone"
        try workspace.write(
            "other.json5",
            """
            { control: "other/s", workers: [{ name: "w", executable: "\(link)", arguments: ["--misbehave", "none"],
              subscribes: ["WorkRequested"], \(Workspace.workerEnvironment), handshake: "4m", heartbeat: { every: "1m" },
              restart: "temporary" },
              { name: "keeps", executable: "faulty-worker", arguments: ["--misbehave", "none"], \(Workspace.workerEnvironment),
                handshake: "4m", heartbeat: { every: "1m" } }] }
            """
        )
        try FileManager.default.createSymbolicLink(
            atPath: link,
            withDestinationPath: try SupervisorProgram.products() + "/faulty-worker"
        )
        let (ready, programs) = (Collected<String>(), Collected<SupervisorProgram>())
        async let run = workspace.run(
            "run",
            "other.json5",
            onError: { program, line in
                programs.add(program)
                if line.contains("is ready") { ready.add(line) }
            }
        )
        await ready.wait { $0.count == 2 }
        try FileManager.default.removeItem(atPath: link)
        let result = try await SupervisorProgram.run(
            ["restart", "w", "--control", "other/s"],
            in: workspace.path
        )
        #expect(result.status == .exited(code: 69))
        #expect(result.errors.count == 1 && result.errors[0].contains("worker \"w\" was "), "\(result.errors)")
        programs.all[0].terminate()
        _ = try await run
        _ = try await supervisor.terminate()
    }

    @Test("F12: a hundred at once are all answered")
    func crowd() async throws {
        // Fewer callers where a sanitizer makes each of these programs slow: a caller waits ten seconds.
        let crowd = rounds(100, atLeast: 20)
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let results = try await withThrowingTaskGroup(of: SupervisorProgram.Result.self) { group in
            for _ in 0..<crowd { group.addTask { try await command("status", "--json") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count { $0.status == .exited(code: 0) } == crowd)
        #expect(results.allSatisfy { $0.output.count == 1 && $0.errors.isEmpty })
        #expect(try await alone(report).clients.count == 1)
        #expect(try await supervisor.terminate().status == .exited(code: 0))
    }

    @Test("F12: commands whose caller is killed at any moment are done once or not at all, and nothing is left of them")
    func killedCallers() async throws {
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        var random = SeededGenerator.announced()
        let callers = 40
        for _ in 0..<callers {
            let delay = UInt64.random(in: 0...150_000_000, using: &random)
            let products = try SupervisorProgram.products()
            var request = SpawnRequest(executable: products + "/supervisor")
            request.arguments = ["restart", "store", "--control", "run/s"]
            request.workingDirectory = workspace.path
            request.environment = CurrentProcess.sanitizerOptions
            let poller = try Poller(name: "caller")
            let child = try ChildProcess.spawn(request)
            let ended = Collected<Void>()
            try child.onExit(on: poller) { _ in ended.add(()) }
            poller.schedule(after: delay) { _ = try? child.signal(SIGKILL) }
            await ended.wait { !$0.isEmpty }
            poller.stop()
        }
        // This command comes after all the others.
        let last = try await command("restart", "store")
        #expect(last.status == .exited(code: 0) && last.errors.isEmpty)
        let report = try await alone(report)
        #expect(report.clients.count == 1)
        let worker = try #require(report.workers.first)
        #expect(worker.state == "ready" && worker.restarts == 0)
        #expect((2...callers + 2).contains(worker.starts))
        #expect(try await supervisor.terminate().status == .exited(code: 0))
    }

    @Test("a socket of a dead supervisor, and none at all, end with status 69 and a sentence")
    func deadSupervisor() async throws {
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        supervisor.program.kill()
        _ = try await supervisor.end()
        #expect(OperatingSystem.fileExists(workspace.path + "/run/s"))
        for words in [
            ["status"], ["stop"], ["stop", "store"], ["restart", "store"], ["metrics"], ["status", "--watch"],
        ] {
            let result = try await SupervisorProgram.run(words + ["--control", "run/s"], in: workspace.path)
            #expect(result.status == .exited(code: 69) && result.output.isEmpty)
            #expect(result.errors.count == 1 && result.errors[0].contains("no host can be reached at run/s"))
            #expect(result.errors[0].hasSuffix("; is a supervisor running, with --control run/s or `control` set?"))
        }
        let none = try await SupervisorProgram.run(["status"], in: workspace.path)
        #expect(none.status == .exited(code: 69))
        #expect(none.errors[0].contains("run/supervisor.sock"))
    }

    @Test("a watch goes on when the supervisor goes away and comes back, and ends when it is asked to")
    func watch() async throws {
        let first = try await RunningSupervisor.start(["store"], in: workspace)
        let (lines, sentences, watchers) = (Collected<String>(), Collected<String>(), Collected<SupervisorProgram>())
        async let watching = workspace.run(
            "status",
            "--json",
            "--watch",
            "--control",
            "run/s",
            onError: { program, line in sentences.add(line) },
            onOutput: { program, line in
                watchers.add(program)
                lines.add(line)
            }
        )
        await lines.wait { $0.count >= 2 }
        _ = try await first.terminate()
        await sentences.wait { !$0.isEmpty }
        let second = try await RunningSupervisor.start(["store"], in: workspace)
        // The two streams have no order between them: a further line may still belong to the first supervisor.
        await lines.wait { lines in
            let reports = lines.compactMap { try? JSONDecoder().decode(BridgeReport.self, from: Data($0.utf8)) }
            return Set(reports.map(\.pid)).count == 2
        }
        watchers.all[0].terminate()
        let result = try await watching
        #expect(result.status == .exited(code: 0))
        #expect(
            sentences.all.count == 1 && sentences.all[0].contains("the host has ended; waiting for it to come back")
        )
        let reports = try result.output.map { try JSONDecoder().decode(BridgeReport.self, from: Data($0.utf8)) }
        #expect(Set(reports.map(\.pid)).count == 2)
        _ = try await second.terminate()
    }

    @Test("on a terminal a watch draws in place, cut to the width, and gives the cursor back at Ctrl-C")
    func terminal() async throws {
        let script = "/usr/bin/script"
        guard access(script, X_OK) == 0 else {
            CurrentProcess.report("not tested: a watch on a terminal, as there is no \(script) to give a program one")
            return
        }
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let program = "'\(try SupervisorProgram.products())/supervisor' status --watch --control run/s"
        let drawn = Collected<Void>()
        let result = try await SupervisorProgram.run(
            ["--quiet", "--return", "--flush", "--command", "stty cols 40 rows 9; exec \(program)", "/dev/null"],
            of: script,
            in: workspace.path,
            environment: ["SHELL": "/bin/sh", "TERM": "xterm"],
            waitsForInput: true,
            onOutput: { program, line in
                guard line.contains("store") else { return }
                drawn.add(())
                if drawn.all.count == 2 { program.finishInput("\u{3}") }
            }
        )
        #expect(result.status == .exited(code: 0))
        let text = result.output.joined(separator: "\n")
        #expect(text.hasPrefix("\u{1B}[?25l\u{1B}[Hsupervisor, process "))
        #expect(text.contains("\u{1B}[?25h") && text.contains("\u{1B}[32mready"))
        #expect(result.output.count { $0.contains("\u{1B}[H") } == drawn.all.count)
        for line in result.output {
            let shown = line.replacing(/\u{1B}\[[?0-9]*[A-Za-z]|\r/, with: "")
            #expect(shown.count <= 40 || shown.contains("^C"), "\(shown)")
        }
        _ = try await supervisor.terminate()
    }

    @Test("a watch whose reader has gone ends")
    func brokenPipe() async throws {
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let result = try await workspace.run("status", "--watch", "--control", "run/s", readsOutput: false)
        #expect(result.status == .exited(code: 0) && result.errors.isEmpty)
        _ = try await supervisor.terminate()
    }

    /// A supervisor that shares no protocol version with this program, as a client sees it.
    private func withOtherVersion(report: BridgeReport?, _ body: () async throws -> Void) async throws {
        let encoded = try report.map { try CBOREncoder().encode($0) }
        let listening = try SharedDescriptor(UnixSocket.bind(to: workspace.path + "/s"))
        try UnixSocket.startListening(listening.rawValue, backlog: 8)
        let poller = try Poller(name: "another version")
        defer { poller.stop() }
        let kept = Collected<SharedDescriptor>()
        let registration = try poller.register(listening.rawValue, interest: .readable) { _ in
            guard let accepted = try? UnixSocket.accept(from: listening.rawValue) else { return }
            let socket = SharedDescriptor(accepted)
            let frame = CBORBuffer()
            ControlMessage.reject(
                Reject(
                    reason: Reject.Reason.version.rawValue,
                    text: Self.bothVersions,
                    report: encoded
                )
            ).encode(into: frame)
            _ = Array(frame.bytes).withUnsafeBytes { UnixSocket.send(socket.rawValue, $0) }
            kept.add(socket)
        }
        defer { registration.cancel() }
        try await body()
        withExtendedLifetime((kept, listening)) {}
    }

    private static let bothVersions = "the client speaks protocol version 1 (0.1.0), the host speaks version 7"

    @Test("F13: a supervisor of another version is named with both versions")
    func otherVersion() async throws {
        try await withOtherVersion(report: nil) {
            for words in [["status"], ["stop"], ["restart", "a"], ["metrics"]] {
                let result = try await SupervisorProgram.run(words + ["--control", "s"], in: workspace.path)
                #expect(result.status == .exited(code: 69))
                #expect(result.errors.count == 1)
                #expect(result.errors[0].hasSuffix(Self.bothVersions), "\(result.errors)")
            }
        }
    }

    @Test("F13: how a supervisor of another version is can be seen all the same")
    func statusOfOtherVersion() async throws {
        let report = BridgeReport(
            pid: 7,
            library: "7.0.0",
            protocolVersion: 7,
            uptimeMilliseconds: 1_000,
            workers: [WorkerReport(name: "canvas", state: "pondering")]
        )
        try await withOtherVersion(report: report) {
            for words in [["status"], ["status", "--json"], ["metrics"]] {
                let result = try await SupervisorProgram.run(words + ["--control", "s"], in: workspace.path)
                #expect(result.status == .exited(code: 0), "\(words)")
                #expect(result.output.contains { $0.contains("canvas") }, "\(words): \(result.output)")
                #expect(result.errors.count == 1)
                #expect(result.errors[0].hasSuffix("\(Self.bothVersions); only its status report can be shown"))
            }
        }
    }

    @Test("a socket that another user serves ends with status 77")
    func otherUser() async {
        guard geteuid() == 0 else {
            CurrentProcess.report(
                "not tested: commands at another user's socket, as only the superuser can be two users"
            )
            return
        }
        await #expect(processExitsWith: .success) {
            let workspace = try Workspace()
            chown(workspace.path, 65_534, 65_534)
            #expect(seteuid(65_534) == 0)
            let listening = try SharedDescriptor(UnixSocket.bind(to: workspace.path + "/s"))
            try UnixSocket.startListening(listening.rawValue, backlog: 8)
            #expect(seteuid(0) == 0)
            let result = try await SupervisorProgram.run(["stop", "--control", "s"], in: workspace.path)
            #expect(result.status == .exited(code: 77))
            #expect(result.errors.count == 1 && result.errors[0].hasSuffix("the socket s is served by user 65534"))
            withExtendedLifetime(listening) {}
        }
    }
}
