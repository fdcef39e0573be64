import BridgePlatform
import TestSupport
import Testing

@Suite("supervisor start and signal", .serialized, .timeLimit(.minutes(5)))
struct SignalTests {
    private let workspace: Workspace

    init() throws {
        workspace = try Workspace()
    }

    private func command(_ words: String...) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(words + ["--control", "run/s"], in: workspace.path)
    }

    /// The processes in lines such as `supervisor: worker "store" is ready (process 4211)`, in their order.
    private func processes(_ lines: [String]) -> [String] {
        lines.compactMap { line in
            guard line.contains("is ready"), let open = line.firstRange(of: "(process ") else { return nil }
            return String(line[open.upperBound...].prefix { $0.isNumber })
        }
    }

    @Test("start brings back a worker that was stopped, and says of one that runs which process it is")
    func start() async throws {
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let stopped = try await command("stop", "store")
        #expect(stopped.status == .exited(code: 0))
        let started = try await command("start", "store")
        #expect(started.status == .exited(code: 0) && started.output.isEmpty && started.errors.isEmpty)
        let ready = processes(await supervisor.errors.wait { processes($0).count == 2 })
        let again = try await command("start", "store")
        #expect(again.status == .exited(code: 0) && again.errors.isEmpty)
        #expect(again.output == ["worker \"store\" runs already (process \(ready[1]))"])
        let unknown = try await command("start", "stoer")
        #expect(unknown.status == .exited(code: 64))
        #expect(unknown.errors == ["supervisor: there is no worker \"stoer\"; did you mean \"store\"?"])
        #expect(try await supervisor.terminate().status == .exited(code: 0))
    }

    @Test("signal goes to the worker's process, which it names, and an end by it counts as a crash")
    func signal() async throws {
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let first = processes(supervisor.errors.all)[0]
        // A signal that every process ignores.
        let winch = try await command("signal", "store", "winch")
        #expect(winch.status == .exited(code: 0) && winch.errors.isEmpty)
        #expect(winch.output == ["SIGWINCH (28) was sent to worker \"store\", process \(first)"])
        let killed = try await command("signal", "store", "9")
        #expect(killed.output == ["SIGKILL (9) was sent to worker \"store\", process \(first)"])
        let ready = processes(await supervisor.errors.wait { processes($0).count == 2 })
        #expect(ready[1] != first)
        #expect(supervisor.errors.all.contains { $0.contains("killed by SIGKILL (9)") })
        #expect(try await supervisor.terminate().status == .exited(code: 0))
    }

    @Test("signal says what is wrong: the signal, the worker's name, or a worker that is down")
    func mistakes() async throws {
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let signal = try await command("signal", "store", "SIGHUPP")
        #expect(signal.status == .exited(code: 64))
        #expect(
            signal.errors.first == """
                supervisor: found the signal "SIGHUPP", expected a name such as HUP or SIGHUP, or its number; \
                did you mean "SIGHUP"?
                """
        )
        let unknown = try await command("signal", "stoer", "HUP")
        #expect(unknown.status == .exited(code: 64))
        #expect(unknown.errors == ["supervisor: there is no worker \"stoer\"; did you mean \"store\"?"])
        let stopped = try await command("stop", "store")
        #expect(stopped.status == .exited(code: 0))
        let down = try await command("signal", "store", "SIGHUP")
        #expect(down.status == .exited(code: 69) && down.output.isEmpty)
        #expect(
            down.errors.first?.hasSuffix("worker \"store\" has no process, it is stopped") == true,
            "\(down.errors)"
        )
        #expect(try await supervisor.terminate().status == .exited(code: 0))
    }
}
