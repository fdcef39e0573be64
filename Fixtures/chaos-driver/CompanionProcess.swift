import BridgePlatform

/// A process of the run that is no worker: the checker, which sees only the ledgers, or the client.
struct CompanionProcess {
    private let child: ChildProcess

    /// The checker of a run.
    static func checker(folder: String) throws -> CompanionProcess {
        try CompanionProcess("chaos-checker", [folder])
    }

    /// The client of a run, which attaches and detaches until the board says that no process publishes any more.
    static func client(folder: String, seed: UInt64, socket: String) throws -> CompanionProcess {
        try CompanionProcess("chaos-worker", [folder, "\(seed)", socket])
    }

    private init(_ program: String, _ arguments: [String]) throws {
        var request = SpawnRequest(executable: try CurrentProcess.executableDirectory() + "/" + program)
        request.arguments = arguments
        request.environment = CurrentProcess.sanitizerOptions
        request.standardOutput = .inherit
        request.standardError = .inherit
        child = try ChildProcess.spawn(request)
    }

    /// - Returns: Whether the process has ended with status 0; for the checker, that everything was as promised.
    func waitForEnd() -> Bool {
        child.waitForExit().status == .exited(code: 0)
    }
}
