import DomainEvents
import EventBridge
import Supervision
import Testing

@testable import bridge_benchmark

@Suite("What the measurement of supervision waits for", .timeLimit(.minutes(5)))
struct SupervisionReportsTests {
    @Test("a worker that is given up ends the wait for its next start, and the reason is told")
    func givenUp() async throws {
        let publisher = EventPublisher()
        let reports = SupervisionReports(publisher)
        let worker = WorkerSpecification(
            "missing",
            executable: .path("/nowhere/worker"),
            backoff: .exponential(from: .milliseconds(1), to: .milliseconds(1), jitter: 0)
        )
        let bridge = try BridgeHost(publisher: publisher, workers: [worker])
        async let waiting = reports.ready(1)
        await #expect(throws: BridgeError.self) { try await bridge.start() }
        for outcome in [await waiting, await reports.ready(2)] {
            guard case .gaveUp(let reason) = outcome else {
                Issue.record("the outcome is \(outcome)")
                continue
            }
            #expect(reason.contains("/nowhere/worker"), "\(reason)")
        }
        await bridge.shutdown()
    }
}
