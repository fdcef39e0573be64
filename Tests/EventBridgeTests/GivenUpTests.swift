import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

struct LetterPosted: DomainEvent, Equatable {
    let number: Int
}

@Suite("Whoever waits for a worker that never comes up")
struct GivenUpTests {
    private struct CannotBegin: Error {}

    @Test(
        "A6: a worker that fails at each start is given up, and who waits to send to it is told",
        .timeLimit(.minutes(1))
    )
    func pendingSendsFail() async throws {
        let publisher = EventPublisher()
        let gaveUp = Collected<WorkerGaveUp>()
        let subscription = publisher.subscribe(to: WorkerGaveUp.self) { gaveUp.add($0) }
        let worker = InMemoryWorker(
            "broken",
            subscribes: [LetterPosted.self],
            backoff: .exponential(from: .milliseconds(5), to: .milliseconds(20)),
            limits: WorkerLimits(outbox: 1 << 10)
        ) { _ in throw CannotBegin() }
        let start = Task { try await BridgeHost.inMemory(publisher, workers: [worker]) }
        // Nobody wants it before the start has begun; then a few fit into the outbox, and the next one waits.
        let error = await #expect(throws: DeliveryError.self) {
            for number in 1...Int.max {
                try await publisher.send(LetterPosted(number: number))
                await Task.yield()
            }
        }
        #expect(error?.code == .workerUnavailable)
        let failure = await #expect(throws: BridgeError.self) { try await start.value }
        #expect(failure?.description.contains("5 restarts within 10 s; last: exited with status 70") == true)
        #expect(gaveUp.all.map(\.worker) == ["broken"])
        withExtendedLifetime(subscription) {}
    }
}
