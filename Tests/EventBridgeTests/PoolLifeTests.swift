import DomainEvents
import EventBridgeTesting
import ExampleDomain
import Supervision
import TestSupport
import Testing

@testable import EventBridge

private struct PoolTask: DomainEvent {
    let key: Int
}

@Suite("The members of a pool live and die by themselves", .serialized)
struct PoolLifeTests {
    private let publisher = EventPublisher()

    @Test(
        "A member that was given up keeps its keys, the others go on, and restarting the pool brings it back",
        .timeLimit(.minutes(5))
    )
    func givenUpMember() async throws {
        let done = Collected<(done: WorkDone, member: String)>()
        let letters = Collected<EventDeadLettered>()
        let givenUp = Collected<WorkerGaveUp>()
        let subscriptions = [
            publisher.subscribe(to: WorkDone.self) { event in
                done.add((event, EventContext.current?.id.origin ?? ""))
            },
            publisher.subscribe(to: EventDeadLettered.self) { letters.add($0) },
            publisher.subscribe(to: WorkerGaveUp.self) { givenUp.add($0) },
        ]
        var pooled = faulty("crash-on:poison", name: "pool", subscribes: [WorkRequested.self])
        pooled.pool = WorkerPool(2).keyed(WorkRequested.self, byField: "number")
        let bridge = try BridgeHost(publisher: publisher, workers: [pooled])
        try await bridge.start()

        for number in Int64(0)..<10 { publisher.publish(WorkRequested(number: number, text: "harmless")) }
        await done.wait { $0.count == 10 }
        let first = try #require(done.all.first { $0.member == "pool.1" }).done.number
        let second = try #require(done.all.first { $0.member == "pool.2" }).done.number

        // Enough in a row, with nothing between them, that the member is given up.
        for _ in 0..<3 { publisher.publish(WorkRequested(number: first, text: "poison")) }
        await givenUp.wait { $0.count == 1 }
        #expect(givenUp.all.map(\.worker) == ["pool.1"])
        #expect(letters.all.allSatisfy { $0.worker == "pool.1" && $0.cause == .crashes })

        publisher.publish(WorkRequested(number: second, text: "goes on"))
        publisher.publish(WorkRequested(number: first, text: "too late"))
        await done.wait { $0.contains { $0.done.text == "goes on" && $0.member == "pool.2" } }
        await letters.wait { $0.count == 4 }
        #expect(letters.all.last?.cause == .workerUnavailable)

        let ready = Collected<WorkerReady>()
        let returns = publisher.subscribe(to: WorkerReady.self) { ready.add($0) }
        bridge.restart("pool")
        // Until the member is back, its events become dead letters.
        await ready.wait { Set($0.map(\.worker)) == ["pool.1", "pool.2"] }
        returns.cancel()
        publisher.publish(WorkRequested(number: first, text: "again"))
        await done.wait { $0.contains { $0.done.text == "again" && $0.member == "pool.1" } }
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("Of a pool on demand only the member starts whose key has come", .timeLimit(.minutes(5)))
    func onDemand() async throws {
        let handled = Collected<String>()
        let pool = InMemoryWorker(
            "pool",
            subscribes: [PoolTask.self],
            onDemand: OnDemand(idleTime: .seconds(3_600)),
            pool: WorkerPool(3).keyed(PoolTask.self, byField: "key")
        ) { publisher in
            let member = publisher.source.origin
            return [publisher.subscribe(to: PoolTask.self) { handled.add("\(member) \($0.key)") }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [pool])
        #expect(bridge.status.map(\.state) == [.dormant, .dormant, .dormant])
        for _ in 0..<5 { publisher.publish(PoolTask(key: 7)) }
        await handled.wait { $0.count == 5 }
        #expect(Set(handled.all).count == 1)
        #expect(bridge.status.map(\.starts).reduce(0, +) == 1)
        #expect(bridge.status.count { $0.state == .dormant } == 2)
        await bridge.shutdown()
    }
}
