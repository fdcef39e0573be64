import BridgePlatform

/// The checker, a process of its own that sees nothing but the ledgers.
struct CheckerProcess {
    private let child: ChildProcess

    init(folder: String) throws {
        var request = SpawnRequest(executable: try CurrentProcess.executableDirectory() + "/chaos-checker")
        request.arguments = [folder]
        request.environment["TSAN_OPTIONS"] = CurrentProcess.environment("TSAN_OPTIONS")
        request.standardOutput = .inherit
        request.standardError = .inherit
        child = try ChildProcess.spawn(request)
    }

    /// - Returns: Whether it has found everything as promised.
    func waitForEnd() -> Bool {
        child.waitForExit().status == .exited(code: 0)
    }
}
