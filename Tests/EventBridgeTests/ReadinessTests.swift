import BridgeWorker
import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

struct IndexQueried: DomainEvent, Equatable {
    let number: Int
}

struct IndexPinged: DomainEvent, Equatable {}

@Suite("Readiness: what a worker says of itself before it is ready, and before it has finished")
struct ReadinessTests {
    private let publisher = EventPublisher()

    @Test(
        "A worker that holds its readiness is not ready though its body has returned, and gets no events",
        .timeLimit(.minutes(1))
    )
    func held() async throws {
        let holds = Collected<ReadinessHold>()
        let answered = Collected<Int>()
        let statuses = Collected<WorkerStatusUpdate>()
        let worker = InMemoryWorker("index", subscribes: [IndexQueried.self]) { publisher in
            holds.add(publisher.holdReadiness(because: "it reads its index"))
            holds.add(publisher.holdReadiness(because: "it opens its store"))
            return [publisher.subscribe(to: IndexQueried.self) { answered.add($0.number) }]
        }
        let bridge = Task { try await BridgeHost.inMemory(publisher, workers: [worker]) }
        let both = await holds.wait { $0.count == 2 }
        publisher.publish(IndexQueried(number: 1))
        both[0].release()
        both[0].release()
        #expect(answered.all.isEmpty)
        both[1].release()
        let started = try await bridge.value
        let subscription = started.subscribeToStatus { statuses.add($0) }
        #expect(statuses.all.first?["index"]?.state == .ready)
        await answered.wait { $0 == [1] }
        await started.shutdown()
        withExtendedLifetime(subscription) {}
    }

    @Test("A start that fails says which worker was not ready", .timeLimit(.minutes(1)))
    func neverReady() async throws {
        let holds = Collected<ReadinessHold>()
        let worker = InMemoryWorker("index", restart: .temporary, handshakeTimeout: .milliseconds(200)) { publisher in
            holds.add(publisher.holdReadiness(because: "it reads its index"))
            return []
        }
        let error = await #expect(throws: BridgeError.self) {
            try await BridgeHost.inMemory(publisher, workers: [worker])
        }
        #expect(error?.worker == "index")
        // On a very slow machine the worker has not even begun by then, and the test shows no more. The clock of the
        // state machine decides how long the worker had; it gives more time where everything stood still.
        if !holds.all.isEmpty {
            #expect(error?.description.contains("was not ready ") == true)
            #expect(error?.description.contains(" after its start") == true)
        }
    }

    @Test("A worker that asks for time to become ready gets it", .timeLimit(.minutes(1)))
    func moreTimeToStart() async throws {
        let worker = InMemoryWorker(
            "index",
            backoff: .exponential(from: .milliseconds(1), to: .milliseconds(1)),
            handshakeTimeout: .milliseconds(100)
        ) { publisher in
            publisher.needsMoreTime(patience, because: "it reads its index")
            let hold = publisher.holdReadiness(because: "it reads its index")
            Task {
                // Longer than the worker's own time: without more time it would never be ready.
                try? await Task.sleep(for: .milliseconds(300))
                hold.release()
            }
            return []
        }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [worker],
            // A slow machine may miss the first times.
            intensity: RestartIntensity(restarts: 100, within: .seconds(60))
        )
        #expect(bridge.status.map(\.state) == [.ready])
        await bridge.shutdown()
    }

    @Test("A worker that asks for time to finish what it has gets it", .timeLimit(.minutes(1)))
    func moreTimeToDrain() async throws {
        let begun = Collected<Int>()
        let answered = Collected<Int>()
        let exits = Collected<WorkerExited>()
        let subscription = publisher.subscribe(to: WorkerExited.self) { exits.add($0) }
        let worker = InMemoryWorker(
            "index",
            subscribes: [IndexQueried.self, IndexPinged.self],
            shutdown: .draining(grace: .milliseconds(100), terminate: .zero)
        ) { publisher in
            [
                publisher.subscribe(to: IndexQueried.self) { event async in
                    publisher.needsMoreTime(patience, because: "it merges its index")
                    begun.add(event.number)
                    // Longer than the grace: without more time the worker would be killed.
                    try? await Task.sleep(for: .milliseconds(300))
                    answered.add(event.number)
                },
                publisher.subscribe(to: IndexPinged.self) { _ in },
            ]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        publisher.publish(IndexQueried(number: 1))
        await begun.wait { $0 == [1] }
        // The receipt comes after everything that the worker has sent before.
        _ = try await publisher.deliver(IndexPinged(), within: patience)
        let report = await bridge.shutdown(drainingWithin: .zero)
        #expect(answered.all == [1])
        #expect(report.isComplete)
        #expect(exits.all.map(\.reason) == ["exited with status 0"])
        withExtendedLifetime(subscription) {}
    }

    @Test("In a program of one process no host waits to hear it", .timeLimit(.minutes(1)))
    func outsideWorker() {
        let hold = publisher.holdReadiness(because: "it reads its index")
        publisher.needsMoreTime(.seconds(1))
        hold.release()
    }
}
