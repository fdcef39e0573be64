import BridgePlatform
import DomainEvents
import EventBridge
import Locks
import Supervision

@testable import EventBridgeTesting

/// Scenarios for single promises that were each broken once.
extension Scenarios {
    /// An event that a handler refuses becomes a dead letter, whether or not its caller still waits for the outcome.
    @Sendable static func refusedLate(_ world: SimulationWorld) async throws {
        let refused = Fates()
        let publisher = EventPublisher()
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("refusing", subscribes: [Asked.self]) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) { (event: Asked) async throws in
                            try await world.sleep(for: .milliseconds(event.number % 3 * 40))
                            if let id = EventContext.current?.id { refused.accepts(id) }
                            throw SimulationError("it wants none")
                        }
                    ]
                },
                InMemoryWorker("asking", subscribes: [Measured.self]) { publisher in
                    [
                        publisher.subscribe(to: Measured.self) { (event: Measured) async in
                            _ = try? await publisher.deliver(Asked(number: event.number), within: .milliseconds(50))
                        }
                    ]
                },
            ]
        )
        for number in 0..<12 { _ = try await publisher.send(Measured(number: number)) }
        try await world.rest(within: .seconds(300))
        refused.putAside(host.deadLetters.map(\.eventID))
        try refused.check("refused questions")
    }

    /// A slow synchronous handler of a report holds up other reports, but no worker's restart.
    @Sendable static func slowReports(_ world: SimulationWorld) async throws {
        let publisher = EventPublisher()
        let answers = Received()
        let isStarted = Received()
        let lock = Lock()
        let changed = Condition(lock: lock)
        let kept = [
            publisher.subscribe(to: WorkerExited.self) { exited in
                // Before the start has ended, there is no answer to wait for.
                guard exited.worker == "first", !isStarted.all.isEmpty else { return }
                let end = MonotonicClock.now() + 90_000_000_000
                lock.withLock { while answers.all.isEmpty, changed.wait(untilNanoseconds: end) {} }
                if answers.all.isEmpty { world.fail("while a report was handled, no worker has come back") }
            },
            publisher.subscribe(to: Answered.self) { event in
                answers.add(event.number)
                lock.withLock { changed.broadcast() }
            },
        ]
        let second = InMemoryWorker("second", subscribes: [Asked.self], backoff: Backoff.exponential(to: .seconds(1))) {
            publisher in
            [publisher.subscribe(to: Asked.self) { publisher.publish(Answered(number: $0.number)) }]
        }
        let host = try await world.start(publisher, workers: [InMemoryWorker("first") { _ in [] }, second])
        isStarted.add(1)
        host.stop("second")
        try await world.sleep(for: .seconds(12))
        world.crash("first")
        try await world.sleep(for: .seconds(1))
        host.restart("second")
        try await world.sleep(for: .milliseconds(1))
        _ = try await publisher.send(Asked(number: 1))
        try await world.rest(within: .seconds(200))
        withExtendedLifetime(kept) {}
    }

    /// A worker whose process has ended is not reported ready, however long a handler of the events that it left takes.
    @Sendable static func endedInHandler(_ world: SimulationWorld) async throws {
        let publisher = EventPublisher()
        let isOver = Received()
        let kept = publisher.subscribe(to: Answered.self) { (_: Answered) in
            while isOver.all.isEmpty { world.core.scheduler.sleep(nanoseconds: 100_000_000) }
        }
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("answering", subscribes: [Asked.self]) { publisher in
                    [publisher.subscribe(to: Asked.self) { publisher.publish(Answered(number: $0.number)) }]
                }
            ]
        )
        _ = try await publisher.send(Asked(number: 1))
        try await world.sleep(for: .milliseconds(200))
        let pid = host.status[0].pid
        world.crash("answering")
        var status = host.status[0]
        // Many short sleeps: if everything stands still in one of them, no thread has had time to see the end.
        for _ in 0..<60 where status.state == .ready && status.pid == pid {
            try await world.sleep(for: .seconds(1))
            status = host.status[0]
        }
        isOver.add(1)
        if status.state == .ready, status.pid == pid {
            throw SimulationError("a minute after its process has ended it is \(status)")
        }
        try await world.rest(within: .seconds(200))
        withExtendedLifetime(kept) {}
    }

    /// A rest waits for a worker whose restart was requested, whichever thread performs the request, and however late.
    @Sendable static func restartedOnRequest(_ world: SimulationWorld) async throws {
        let asked = Fates()
        let publisher = EventPublisher()
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("working", subscribes: [Asked.self]) { publisher in
                    [publisher.subscribe(to: Asked.self) { (_: Asked) in asked.handles() }]
                }
            ]
        )
        host.stop("working")
        // If the worker is down by now, it has no event to come back for.
        if let id = try? await publisher.send(Asked(number: 1)) { asked.accepts(id) }
        // The thread that has reported the state may still be acting upon the worker's end.
        for await update in host.statusUpdates where update.workers[0].state == .stopped { break }
        host.restart("working")
        try await world.rest(within: .seconds(200))
        asked.putAside(host.deadLetters.map(\.eventID))
        try asked.check("questions")
    }

    /// If two threads publish a new name at once, both events come to a client that wants everything.
    @Sendable static func newNames(_ world: SimulationWorld) async throws {
        let host = try await world.start(EventPublisher(), workers: [], control: ControlSocket("control"))
        let audit = await world.attach("audit", wantsEverything: true) { _ in [] }
        let stream = audit.life.stream
        // The client has sent its interest, which may not have arrived.
        try await world.sleep(for: .seconds(1))
        let payload: [UInt8] = [0xf6]
        let names = (0..<20).map { "New\($0)" }
        let publishing = (0..<2).map { _ in
            world.task { for name in names { _ = try host.publish(name: name, payload: payload).get() } }
        }
        for task in publishing { await task.value }
        try await world.rest(within: .seconds(200))
        // Nothing waits for a client.
        try await world.sleep(for: .seconds(5))
        // A client that was away for a while has missed the events that passed meanwhile.
        guard !audit.hasEnded, audit.isAttached, audit.life.stream === stream else { return }
        let seen = world.core.record.count(at: "audit", from: "host")
        guard seen == 2 * names.count else {
            throw SimulationError("\(seen) of \(2 * names.count) events have come to a client that wants all")
        }
    }

    /// A worker that ends at once is started again after a longer pause each time.
    @Sendable static func backOff(_ world: SimulationWorld) async throws {
        let starts = Received()
        let publisher = EventPublisher()
        try await world.start(
            publisher,
            workers: [
                InMemoryWorker(
                    "ending",
                    subscribes: [Asked.self],
                    backoff: .exponential(from: .seconds(1), to: .seconds(8), jitter: 0.5)
                ) { publisher in
                    starts.add(Int(world.time / .milliseconds(1)))
                    return [
                        publisher.subscribe(to: Asked.self) { (_: Asked) in
                            if starts.all.count < 4 { world.exitHere(.status(1)) }
                        }
                    ]
                }
            ]
        )
        _ = try await publisher.send(Asked(number: 1))
        try await world.sleep(for: .seconds(60))
        let times = starts.all
        for (before, after) in zip(times, times.dropFirst()) where after - before < 500 {
            throw SimulationError("started at \(before) ms and again at \(after) ms")
        }
        try await world.rest(within: .seconds(200))
    }
}
