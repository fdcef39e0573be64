import BridgePlatform
import Locks
import Testing

/// A value that is there from some moment on.
private final class Value<T: Sendable>: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var value: T?

    var current: T? { lock.withLock { value } }

    func set(_ value: T) { lock.withLock { self.value = value } }
}

@Suite("supervisor run, under a service manager")
struct ServiceManagerTests {
    private static let configuration = """
        { workers: [
        { name: "a", executable: "faulty-worker", arguments: ["--misbehave", "none"], subscribes: ["WorkRequested"],
          \(Workspace.workerEnvironment), handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } },
        { name: "b", executable: "faulty-worker", arguments: ["--misbehave", "none"], onDemand: true,
          subscribes: ["BoxOrdered"], \(Workspace.workerEnvironment) },
        ] }
        """

    @Test("says when it is ready, how it is, that it lives, and that it stops", .timeLimit(.minutes(5)))
    func told() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration)
        let manager = try Manager(at: "\(workspace.path)/notify")
        let supervisor = Value<SupervisorProgram>()
        let stops = Count()
        let thread = try manager.listen { line in
            // The program goes on until it has sent a sign of life after its readiness.
            guard line == "WATCHDOG=1", manager.received.contains("READY=1"), let program = supervisor.current else {
                return
            }
            if stops.increment() == 1 { program.terminate() }
        }
        let result = try await SupervisorProgram.run(
            ["run", "bridge.json5"],
            in: workspace.path,
            environment: ["NOTIFY_SOCKET": "\(workspace.path)/notify", "WATCHDOG_USEC": "2000000"],
            onError: { program, _ in supervisor.set(program) }
        )
        manager.end()
        thread.join()
        #expect(result.status == .exited(code: 0))
        let lines = manager.received
        let ready = try #require(lines.firstIndex(of: "READY=1"))
        let stopping = try #require(lines.firstIndex(of: "STOPPING=1"))
        #expect(ready < stopping)
        #expect(lines.contains("STATUS=1 of 2 workers are ready; 1 on demand"))
        #expect(lines.count { $0 == "READY=1" } == 1)
        #expect(lines.count { $0 == "STOPPING=1" } == 1)
    }

    @Test("hears of no readiness where the control socket cannot be made", .timeLimit(.minutes(5)))
    func neverReady() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration)
        try workspace.write("file", "")
        let manager = try Manager(at: "\(workspace.path)/notify")
        let thread = try manager.listen { _ in }
        let result = try await SupervisorProgram.run(
            ["run", "bridge.json5", "--control", "file/s", "--input", "-"],
            in: workspace.path,
            environment: ["NOTIFY_SOCKET": "\(workspace.path)/notify"]
        )
        manager.end()
        thread.join()
        #expect(result.status == .exited(code: 71), "\(result.errors)")
        #expect(manager.received.contains("STOPPING=1"))
        #expect(!manager.received.contains("READY=1"))
    }

    @Test("hears of readiness when a worker has come back that another one's failure overtook", .timeLimit(.minutes(5)))
    func readyAfterBackOff() async throws {
        let workspace = try Workspace()
        let worker = try SupervisorProgram.products() + "/faulty-worker"
        // The first start of this worker fails.
        let second = try workspace.program(
            "second",
            """
            #!/bin/sh
            [ -e first-start ] || { : > first-start; exit 1; }
            : > second-start
            exec '\(worker)' --misbehave none
            """
        )
        try workspace.write(
            "bridge.json5",
            """
            { workers: [
              { name: "fails", executable: "/bin/sh", arguments: ["-c", "exit 1"], handshake: "4m", restart: "temporary" },
              { name: "second", executable: "\(second)", directory: "\(workspace.path)", \(Workspace.workerEnvironment),
                backoff: { initial: "3s", maximum: "3s" }, handshake: "4m", heartbeat: { every: "1m" },
                shutdown: { grace: "4m" } },
            ] }
            """
        )
        let manager = try Manager(at: "\(workspace.path)/notify")
        let (supervisor, hasComeBack) = (Value<SupervisorProgram>(), Value<Bool>())
        let path = workspace.path
        let thread = try manager.listen { line in
            guard line == "READY=1" else { return }
            hasComeBack.set(OperatingSystem.fileExists("\(path)/second-start"))
            supervisor.current?.terminate()
        }
        let result = try await SupervisorProgram.run(
            ["run", "bridge.json5"],
            in: workspace.path,
            environment: ["NOTIFY_SOCKET": "\(workspace.path)/notify"],
            onStart: { supervisor.set($0) }
        )
        manager.end()
        thread.join()
        #expect(hasComeBack.current == true, "\(result.errors)")
    }

    @Test(
        "F11: a manager that is gone is named once, and harms nothing",
        .timeLimit(.minutes(5)),
        arguments: [(false, "(ENOENT)"), (true, "(ECONNREFUSED)")]
    )
    func gone(leavesSocket: Bool, reason: String) async throws {
        let workspace = try Workspace()
        // The manager's descriptor is closed with it at once, its file stays.
        if leavesSocket { _ = try Manager(at: "\(workspace.path)/nobody") }
        try workspace.write("bridge.json5", Self.configuration)
        let result = try await SupervisorProgram.run(
            ["run", "bridge.json5", "--input", "-", "--exit-when-idle"],
            in: workspace.path,
            environment: ["NOTIFY_SOCKET": "\(workspace.path)/nobody"]
        )
        #expect(result.status == .exited(code: 0))
        let complaints = result.errors.filter { $0.contains("the service manager is not told") }
        #expect(complaints.count == 1)
        #expect(complaints.first?.contains(reason) == true)
    }
}
