import BridgePlatform
import BridgeTransport
import BridgeWorker
import Testing

@Suite("A host that does not answer a worker's hello", .timeLimit(.minutes(1)))
struct SilentHostTests {
    @Test("leaves the worker's thread to other tasks, and the worker ends with the link")
    @MainActor
    func threadIsFree() async throws {
        let poller = try Poller(name: "silent host")
        let (host, worker) = MemoryStream.pair(poller: poller)
        let session = WorkerSession(name: "early", cookie: "c", poller: poller)
        let run = Task { @MainActor in try await session.run(over: worker, patience: 1_000_000) { _ in } }
        // The first of these two begins the worker's task, and the second gets the thread when the task waits.
        for _ in 1...2 { await Task { @MainActor in }.value }
        host.close()
        await #expect(throws: WorkerError.self) { try await run.value }
        poller.stop()
    }
}
