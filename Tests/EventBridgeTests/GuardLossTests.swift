import DomainEvents
import FoundationEssentials
import TestSupport
import Testing

@testable import EventBridge

@Suite("A guard that does not guard", .serialized, .timeLimit(.minutes(5)))
struct GuardLossTests {
    private let publisher = EventPublisher()

    @Test("No worker starts without the guard that was insisted on, and the error says what is wrong with the guard")
    func noProgram() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/guard"
        try Data("x".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("none", subscribes: [])],
            workerGuard: .program(.path(path))
        )
        let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(error?.code == .workerNotReady)
        #expect(error?.description.contains("its guard does not start: spawn of \(path) failed") == true)
        #expect(error?.description.contains("ENOEXEC") == true)
        await bridge.shutdown()
    }

    @Test("A guard that ends by itself is named once, however many starts follow, and the workers run on")
    func endsByItself() async throws {
        let said = Collected<String>()
        let reports = WorkerReports(publisher)
        let launcher = ProcessLauncher(.program(.path("/bin/false"))) { said.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("none", subscribes: [])],
            launcher: launcher
        )
        try await bridge.start()
        await said.wait(for: 1)
        bridge.restart("faulty")
        await reports.ready.wait(for: 2)
        await bridge.shutdown()
        #expect(said.all == ["the guard /bin/false exited with code 1; workers run without it"])
        reports.end()
    }
}
