import BridgePlatform
import Locks

/// Collects values from any thread and lets a test wait for them.
final class Noted<Value: Sendable>: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var values: [Value] = []
    private var waiters: [(isMet: ([Value]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

    var all: [Value] { lock.withLock { values } }

    func add(_ value: Value) {
        let ready = lock.withLock {
            values.append(value)
            defer { waiters.removeAll { $0.isMet(values) } }
            return waiters.filter { $0.isMet(values) }
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Waits until the values are as wanted; the test's time limit ends what never comes.
    @discardableResult
    func wait(until isMet: @escaping @Sendable ([Value]) -> Bool) async -> [Value] {
        await withCheckedContinuation { continuation in
            let isReady = lock.withLock {
                if isMet(values) { return true }
                waiters.append((isMet, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
        return all
    }
}

/// A supervisor that runs while a test gives it commands, with its control socket at `run/s` of the test's workspace.
final class RunningSupervisor: Sendable {
    let program: SupervisorProgram
    /// What it has said on standard error so far.
    let errors: Noted<String>
    private let run: Task<SupervisorProgram.Result, any Error>

    /// Starts one with workers of these names, and returns when they are ready.
    static func start(_ workers: [String], in workspace: Workspace) async throws -> RunningSupervisor {
        let lives = workers.map { name in
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "none"], subscribes: ["WorkRequested"],
              \(Workspace.workerEnvironment), handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } },
            """
        }
        try workspace.write("bridge.json5", "{ control: \"run/s\", workers: [\n\(lives.joined(separator: "\n"))\n] }")
        let (programs, errors) = (Noted<SupervisorProgram>(), Noted<String>())
        let run = Task {
            try await workspace.run(
                "run",
                "bridge.json5",
                onError: { program, line in
                    // First: whoever waits for the line asks for the program.
                    programs.add(program)
                    errors.add(line)
                }
            )
        }
        await errors.wait { $0.count { $0.contains("is ready (process") } == workers.count }
        return RunningSupervisor(programs.all[0], errors, run)
    }

    private init(
        _ program: SupervisorProgram,
        _ errors: Noted<String>,
        _ run: Task<SupervisorProgram.Result, any Error>
    ) {
        (self.program, self.errors, self.run) = (program, errors, run)
    }

    /// Returns when it has ended.
    func end() async throws -> SupervisorProgram.Result { try await run.value }

    func terminate() async throws -> SupervisorProgram.Result {
        program.terminate()
        return try await end()
    }
}
