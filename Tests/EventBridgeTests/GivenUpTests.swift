import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

struct LetterPosted: DomainEvent, Equatable {
    let number: Int
}

@Suite("Callers that wait for a worker that never comes up")
struct GivenUpTests {
    private struct CannotBegin: Error {}

    @Test(
        "A6: a worker that fails at each start is given up, and a caller that waits to send to it is told",
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
        // The test keeps the bridge: a bridge that is released ends at once, and refuses events for another reason.
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [worker.specification],
            launcher: InMemoryLauncher([worker])
        )
        let start = Task { try await bridge.start() }
        // No peer wants the event before the start has begun; then a few fit into the outbox, and the next one waits.
        let error = await #expect(throws: DeliveryError.self) {
            for number in 1...Int.max {
                try await publisher.send(LetterPosted(number: number))
                await Task.yield()
            }
        }
        #expect(error?.code == .workerUnavailable && error?.worker == "broken")
        #expect(error?.id?.origin == "host")
        let failure = await #expect(throws: BridgeError.self) { try await start.value }
        #expect(failure?.description.contains("5 restarts within 10 s; last: exited with status 70") == true)
        #expect(gaveUp.all.map(\.worker) == ["broken"])
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("deliver does not wait for a stopped worker that only looks on", .timeLimit(.minutes(5)))
    func stoppedWatcher() async throws {
        let publisher = EventPublisher()
        let watched = Collected<Int>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("worker", subscribes: [LetterPosted.self]) {
                    [$0.subscribe(to: LetterPosted.self) { _ in }]
                },
                // The worker subscribes to events that its specification does not name.
                InMemoryWorker("watcher") { [$0.subscribe(to: LetterPosted.self) { watched.add($0.number) }] },
            ]
        )
        let both = try await publisher.deliver(LetterPosted(number: 1), within: .seconds(240))
        #expect(both.handlers == ["worker": 1, "watcher": 1])
        bridge.stop("watcher")
        for await update in bridge.statusUpdates where update["watcher"]?.state == .stopped { break }
        let one = try await publisher.deliver(LetterPosted(number: 2), within: .seconds(240))
        #expect(one.handlers == ["worker": 1])
        bridge.restart("watcher")
        for await update in bridge.statusUpdates where update["watcher"]?.state == .ready { break }
        try await publisher.deliver(LetterPosted(number: 3), within: .seconds(240))
        #expect(watched.all == [1, 3])
        await bridge.shutdown()
    }

    @Test("callers that wait for room as the bridge shuts down learn that it does", .timeLimit(.minutes(5)))
    func pendingSendsAtShutdown() async throws {
        let publisher = EventPublisher()
        let (gate, sent) = (ErrandGate(), Collected<Int>())
        let worker = InMemoryWorker("stuck", subscribes: [LetterPosted.self], limits: WorkerLimits(outbox: 1 << 10)) {
            [$0.subscribe(to: LetterPosted.self) { (_: LetterPosted) async in await gate.pass() }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        let sending = Task {
            for number in 1...Int.max {
                try await publisher.send(LetterPosted(number: number))
                sent.add(number)
            }
        }
        // Long enough for the sender to stop; if the wait were too short, the test would show less.
        var before = 0
        repeat {
            before = sent.count
            try await Task.sleep(for: .milliseconds(100))
        } while before == 0 || before < sent.count
        let delivering = Task { try await publisher.deliver(LetterPosted(number: 0), within: .seconds(240)) }
        try await Task.sleep(for: .milliseconds(100))
        let stopping = Task { await bridge.shutdown(drainingWithin: .zero) }
        let escalating = Task {
            while !Task.isCancelled {
                bridge.escalateShutdown()
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        let errors = [
            await #expect(throws: DeliveryError.self) { try await sending.value },
            await #expect(throws: DeliveryError.self) { try await delivering.value },
        ]
        for error in errors {
            #expect(error?.code == .shuttingDown, "\(String(describing: error))")
            #expect(error?.id?.origin == "host" && error?.event == LetterPosted.eventName)
        }
        gate.open()
        _ = await stopping.value
        escalating.cancel()
    }
}
