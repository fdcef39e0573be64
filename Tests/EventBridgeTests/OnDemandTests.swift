import BridgePlatform
import BridgeTransport
import DomainEvents
import EventBridgeTesting
import ExampleDomain
import Supervision
import TestSupport
import Testing

@testable import EventBridge

struct ParcelArrived: DomainEvent, Equatable {
    let number: Int
}

private struct CatalogPrinted: DomainEvent {
    let text: String
}

struct ParcelReturned: DomainEvent, Equatable {
    let number: Int
}

/// What a worker on demand has seen of an event.
private struct Seen: Sendable, Hashable {
    let number: Int
    let attempt: Int
}

@Suite("Workers on demand", .serialized)
struct OnDemandTests {
    private let publisher = EventPublisher()
    /// As short as it can be: a worker is stopped at the second look after its last work.
    private static let atOnce = OnDemand(idleTime: .nanoseconds(1))
    /// So long that no test sees its end.
    private static let never = OnDemand(idleTime: .seconds(3_600))

    private func worker(
        _ name: String = "clerk",
        onDemand: OnDemand = never,
        seen: Collected<Seen>
    ) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [ParcelArrived.self], onDemand: onDemand) { publisher in
            [
                publisher.subscribe(to: ParcelArrived.self) { event in
                    seen.add(Seen(number: event.number, attempt: EventContext.current?.attempt ?? 0))
                }
            ]
        }
    }

    @Test("The first event that one subscribes to starts it, and was kept for it meanwhile", .timeLimit(.minutes(5)))
    func firstEventStarts() async throws {
        let seen = Collected<Seen>()
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker(seen: seen)])
        #expect(bridge.status.map(\.state) == [.dormant])
        publisher.publish(ParcelReturned(number: 1))
        #expect(bridge.status.map(\.starts) == [0])
        for number in 1...3 { publisher.publish(ParcelArrived(number: number)) }
        await seen.wait { $0.count == 3 }
        #expect(seen.all == (1...3).map { Seen(number: $0, attempt: 1) })
        #expect(bridge.status.map(\.starts) == [1])
        let report = await bridge.shutdown()
        #expect(report.isComplete)
    }

    @Test("An event beyond the default limit of a frame reaches one, down or up", .timeLimit(.minutes(5)))
    func largeEvent() async throws {
        let seen = Collected<Int>()
        let reader = InMemoryWorker(
            "reader",
            subscribes: [CatalogPrinted.self],
            onDemand: Self.never,
            limits: WorkerLimits(frame: 64 << 20)
        ) { publisher in
            [publisher.subscribe(to: CatalogPrinted.self) { seen.add($0.text.utf8.count) }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [reader])
        // The first finds the worker down, the second finds it up.
        for count in 1...2 {
            #expect(bridge.status.map(\.starts) == [count - 1])
            publisher.publish(CatalogPrinted(text: String(repeating: "a", count: 20 << 20)))
            await seen.wait(for: count)
        }
        #expect(seen.all == [20 << 20, 20 << 20])
        #expect(bridge.status.map(\.starts) == [1])
        await bridge.shutdown()
    }

    @Test("deliver and send reach one that is down", .timeLimit(.minutes(5)))
    func deliverStarts() async throws {
        let seen = Collected<Seen>()
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker(onDemand: Self.atOnce, seen: seen)])
        for number in 1...5 {
            let receipt = try await publisher.deliver(ParcelArrived(number: number), within: patience)
            #expect(receipt.handlers["clerk"] == 1)
            try await publisher.send(ParcelArrived(number: -number))
        }
        await bridge.waitUntilIdle()
        #expect(seen.all.map(\.number) == [1, -1, 2, -2, 3, -3, 4, -4, 5, -5])
        await bridge.shutdown()
    }

    @Test("What another worker publishes starts one as well", .timeLimit(.minutes(5)))
    func otherWorkerStarts() async throws {
        let seen = Collected<Seen>()
        let porter = InMemoryWorker("porter", subscribes: [ParcelReturned.self]) { publisher in
            [publisher.subscribe(to: ParcelReturned.self) { publisher.publish(ParcelArrived(number: $0.number)) }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [porter, worker(seen: seen)])
        #expect(bridge.status.map(\.state) == [.ready, .dormant])
        publisher.publish(ParcelReturned(number: 7))
        await seen.wait { $0 == [Seen(number: 7, attempt: 1)] }
        await bridge.shutdown()
    }

    @Test(
        "One that is idle is stopped, says so, and what else it had asked for does not start it",
        .timeLimit(.minutes(5))
    )
    func idleWorkerStops() async throws {
        let seen = Collected<Seen>()
        let exits = Collected<WorkerExited>()
        let subscription = publisher.subscribe(to: WorkerExited.self) { exits.add($0) }
        let curious = InMemoryWorker("clerk", subscribes: [ParcelArrived.self], onDemand: Self.atOnce) { publisher in
            [
                publisher.subscribe(to: ParcelArrived.self) { seen.add(Seen(number: $0.number, attempt: 1)) },
                publisher.subscribe(to: ParcelReturned.self) { _ in },
            ]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [curious])
        publisher.publish(ParcelArrived(number: 1))
        let exit = try #require(await exits.wait { !$0.isEmpty }.first)
        #expect(exit.wasAsked)
        #expect(exit.next == ChildState.dormant.description)
        // The end of the stop is reported before this event.
        publisher.publish(ParcelArrived(number: 2))
        await exits.wait { $0.count == 2 }
        #expect(bridge.status.map(\.state) == [.dormant])
        publisher.publish(ParcelReturned(number: 3))
        await bridge.waitUntilIdle()
        #expect(bridge.status.map(\.starts) == [2])
        #expect(seen.all.map(\.number) == [1, 2])
        await bridge.shutdown()
        withExtendedLifetime(subscription) {}
    }

    @Test(
        "One that is idle while it waits for its turn in a shutdown gets what the others still publish",
        .timeLimit(.minutes(5))
    )
    func idleInShutdown() async throws {
        let (gate, entered, seen) = (ErrandGate(), Collected<Void>(), Collected<Seen>())
        let porter = InMemoryWorker(
            "porter",
            subscribes: [ParcelReturned.self],
            shutdown: .draining(grace: patience)
        ) { publisher in
            [
                publisher.subscribe(to: ParcelReturned.self) { returned in
                    entered.add(())
                    gate.block()
                    publisher.publish(ParcelArrived(number: returned.number))
                }
            ]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker(seen: seen), porter])
        publisher.publish(ParcelArrived(number: 1))
        await seen.wait(for: 1)
        publisher.publish(ParcelReturned(number: 2))
        await entered.wait(for: 1)
        let stopping = Task { await bridge.shutdown(drainingWithin: .zero) }
        for await update in bridge.statusUpdates where update["porter"]?.state == .draining { break }
        // The clerk's turn comes when the porter has ended. Its link is quiet before that, and the watch finds it idle.
        let clerk = try #require(bridge.core.present(0))
        while !clerk.link.keepEventsIfIdle(since: clerk.link.activity), !Task.isCancelled { await Task.yield() }
        bridge.core.supervisor?.childIdled(index: 0, start: clerk.number)
        gate.open()
        #expect(await stopping.value.isComplete)
        #expect(seen.all == [Seen(number: 1, attempt: 1), Seen(number: 2, attempt: 1)])
    }

    @Test("N12: idle exit against publish: each event is handled once, in order, attempt 1", .timeLimit(.minutes(10)))
    func idleExitAgainstPublish() async throws {
        // Each event meets every worker, and each worker is at another point of its idle exit.
        let workers = 20
        let rounds = rounds(1_000)
        var random = SeededGenerator.announced()
        let exits = Collected<WorkerExited>()
        let subscription = publisher.subscribe(to: WorkerExited.self) { exits.add($0) }
        let seen = (0..<workers).map { _ in Collected<Seen>() }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: seen.enumerated().map { worker("clerk-\($0.offset)", onDemand: Self.atOnce, seen: $0.element) }
        )
        var events = 0
        var updates = bridge.statusUpdates.makeAsyncIterator()
        // A round is an idle exit; the next event comes while some or all of the workers are exiting.
        while bridge.status.map(\.starts).reduce(0, +) < rounds {
            events += 1
            publisher.publish(ParcelArrived(number: events))
            let leaving = Int.random(in: 1...workers, using: &random)
            while let update = await updates.next(),
                update.workers.count(where: { $0.state != .ready && $0.state != .starting }) < leaving
            {}
        }
        await bridge.waitUntilIdle()
        let total = events
        let expected = (1...total).map { Seen(number: $0, attempt: 1) }
        for one in seen {
            await one.wait { $0.count >= total }
            #expect(one.all == expected)
        }
        #expect(exits.all.allSatisfy { $0.wasAsked })
        #expect(bridge.statistics.allSatisfy { $0.sent.isBalanced && $0.sent.handled == UInt64(total) })
        print("N12: \(bridge.status.map(\.starts).reduce(0, +)) starts for \(total) events")
        let report = await bridge.shutdown()
        #expect(report.isComplete)
        withExtendedLifetime(subscription) {}
    }

    @Test(
        "Real processes come and go with the demand, and one that crashes over an event gets it again",
        .timeLimit(.minutes(5))
    )
    func processes() async throws {
        let reports = WorkerReports(publisher)
        var specification = faulty("crash-once-on:bad", subscribes: [WorkRequested.self])
        specification.child.onDemand = OnDemand(idleTime: .milliseconds(4))
        let bridge = try BridgeHost(publisher: publisher, workers: [specification])
        try await bridge.start()
        #expect(bridge.status.map(\.pid) == [nil])
        for number in 1...4 as ClosedRange<Int64> {
            publisher.publish(WorkRequested(number: number, text: number == 3 ? "bad" : "good"))
            await reports.exits.wait { $0.count >= number }
        }
        await bridge.waitUntilIdle()
        let done = await reports.done.wait { $0.count == 4 }
        #expect(done.map(\.number) == [1, 2, 3, 4])
        #expect(done.map(\.attempt) == [1, 1, 2, 1])
        #expect(reports.exits.all.count { !$0.wasAsked } == 1)
        let report = await bridge.shutdown()
        #expect(report.isComplete)
        reports.end()
    }

    @Test("One that nothing would start is refused", .timeLimit(.minutes(1)))
    func refused() {
        let mistakes = WorkerSpecification.validate([
            WorkerSpecification("clerk", executable: .beside("clerk"), onDemand: OnDemand())
        ])
        #expect(
            mistakes == [
                "worker \"clerk\": it is on demand, but subscribes to no event that could start it"
            ]
        )
    }
}
