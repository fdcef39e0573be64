import DomainEvents
import Supervision
import TestSupport
import Testing

@testable import EventBridge
@testable import EventBridgeTesting

@Suite("A start that a shutdown overtakes", .timeLimit(.minutes(5)))
struct OvertakenStartTests {
    private let started = Collected<Void>()

    private func bridge() throws -> BridgeHost {
        let worker = InMemoryWorker { [started] _ in
            started.add(())
            return []
        }
        return try BridgeHost(
            publisher: EventPublisher(),
            workers: [worker.specification],
            launcher: InMemoryLauncher([worker])
        )
    }

    @Test("starts no worker once all have been stopped, and says why")
    func startsNoWorker() async throws {
        let bridge = try bridge()
        await bridge.core.stop()
        let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(error?.code == .wrongState)
        #expect(error?.description == "the bridge was shut down while it was starting")
        #expect(started.all.isEmpty)
        await bridge.shutdown(drainingWithin: .zero)
        #expect(bridge.status.map(\.state) == [.stopped])
    }

    @Test("leaves no process running, whichever of the two comes first")
    func leavesNoProcessRunning() async throws {
        for _ in 0..<200 {
            let bridge = try bridge()
            let starting = Task { try await bridge.start() }
            let stopping = Task { await bridge.shutdown(drainingWithin: .zero) }
            _ = await starting.result
            _ = await stopping.value
            #expect(bridge.status.allSatisfy { $0.state.isAtRest })
        }
    }

    @Test("is not touched by an escalation before it: there is no shutdown to make quicker")
    func escalatedBeforeTheStart() async throws {
        let bridge = try bridge()
        bridge.escalateShutdown()
        try await bridge.start()
        #expect(bridge.status.map(\.state) == [.ready])
        await bridge.shutdown(drainingWithin: .zero)
        #expect(bridge.status.map(\.state) == [.stopped])
    }
}
