import BridgePlatform
import TestSupport
import Testing

/// `host-chaos` counts for itself, and says what it has found on standard output.
@Suite("A host with a journal is killed")
struct HostKillTests {
    @Test(
        "J1, J2: whatever is killed with it, its workers get each accepted event, in order, and repeats are marked",
        .timeLimit(.minutes(10))
    )
    func kills() throws {
        var request = SpawnRequest(executable: try KillTests.programs() + "/host-chaos")
        request.arguments = ["--kills", "\(rounds(20))", "--events", "\(rounds(20) * 5_000)"]
        request.environment = CurrentProcess.sanitizerOptions
        request.standardOutput = .inherit
        request.standardError = .inherit
        #expect(try ChildProcess.spawn(request).waitForExit().status == .exited(code: 0))
    }
}
