import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

@Suite("A restart that waits for an earlier worker's start", .timeLimit(.minutes(5)))
struct QueuedRestartTests {
    @Test("keeps events for its worker from the request on, and they count as on their way")
    func events() async throws {
        let publisher = EventPublisher()
        let (starts, mayStart, handled) = (Collected<Int>(), Collected<Bool>(), Collected<Int>())
        let earlier = InMemoryWorker("earlier", handshakeTimeout: .seconds(240)) { _ in
            starts.add(1)
            if starts.count > 1 { await mayStart.wait(for: 1) }
            return []
        }
        let later = InMemoryWorker("later", subscribes: [LetterPosted.self]) {
            [$0.subscribe(to: LetterPosted.self) { (letter: LetterPosted) in handled.add(letter.number) }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [earlier, later], startOrder: .inSequence)
        bridge.stop("later")
        for await update in bridge.statusUpdates where update["later"]?.state == .stopped { break }
        bridge.restart("earlier")
        await starts.wait(for: 2)
        bridge.restart("later")
        for await update in bridge.statusUpdates where update["later"]?.state == .starting { break }
        publisher.publish(LetterPosted(number: 1))
        let waiting = Task {
            await bridge.waitUntilIdle()
            return handled.all
        }
        mayStart.add(true)
        #expect(await waiting.value == [1])
        await bridge.shutdown()
    }
}
