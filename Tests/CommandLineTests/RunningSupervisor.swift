import TestSupport

/// A supervisor that runs while a test gives it commands, with its control socket at `run/s` of the test's workspace.
final class RunningSupervisor: Sendable {
    let program: SupervisorProgram
    /// The lines on standard error so far.
    let errors: Collected<String>
    private let run: Task<SupervisorProgram.Result, any Error>

    /// A configuration with workers of these names.
    ///
    /// - Parameter more: further keys of each worker, by its name.
    static func configuration(_ workers: [String], more: [String: String] = [:]) -> String {
        let lives = workers.map { name in
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "none"], subscribes: ["WorkRequested"],
              \(Workspace.workerEnvironment), handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" },
              \(more[name] ?? "") },
            """
        }
        return "{ control: \"run/s\", workers: [\n\(lives.joined(separator: "\n"))\n] }"
    }

    /// Starts a supervisor with workers of these names, and returns when they are ready.
    ///
    /// - Parameter environment: further variables.
    static func start(
        _ workers: [String],
        in workspace: Workspace,
        environment: [String: String] = [:]
    ) async throws -> RunningSupervisor {
        try workspace.write("bridge.json5", configuration(workers))
        let (programs, errors) = (Collected<SupervisorProgram>(), Collected<String>())
        let run = Task {
            try await SupervisorProgram.run(
                ["run", "bridge.json5"],
                in: workspace.path,
                environment: environment,
                onError: { program, line in
                    // Added first: a test that waits for the line then asks for the program.
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
        _ errors: Collected<String>,
        _ run: Task<SupervisorProgram.Result, any Error>
    ) {
        (self.program, self.errors, self.run) = (program, errors, run)
    }

    /// Returns when the supervisor has ended.
    func end() async throws -> SupervisorProgram.Result { try await run.value }

    func terminate() async throws -> SupervisorProgram.Result {
        program.terminate()
        return try await end()
    }
}
