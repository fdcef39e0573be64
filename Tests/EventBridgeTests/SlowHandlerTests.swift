import DomainEvents
import EventBridge
import EventBridgeTesting
import TestSupport
import Testing

@Suite("A slow handler slows its own link's handlers, and no others", .timeLimit(.minutes(5)))
struct SlowHandlerTests {
    private let publisher = EventPublisher()

    @Test("while a handler blocks, the link is read on: events for others pass, and its own follow in order")
    func readingGoesOn() async throws {
        let gate = ErrandGate()
        let handled = Collected<Int>()
        let passed = Collected<Int>()
        let subscription = publisher.subscribe(to: ErrandGiven.self) { order in
            if order.number == 0 { gate.block() }
            handled.add(order.number)
        }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("sender", subscribes: [ErrandsBegun.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandsBegun.self) { _ in
                            for number in 0..<1_000 { publisher.publish(ErrandGiven(number: number)) }
                        }
                    ]
                },
                InMemoryWorker("receiver", subscribes: [ErrandGiven.self]) { publisher in
                    [publisher.subscribe(to: ErrandGiven.self) { passed.add($0.number) }]
                },
            ]
        )
        publisher.publish(ErrandsBegun())
        #expect(await passed.wait { $0.count == 1_000 } == Array(0..<1_000))
        #expect(handled.all.isEmpty)
        gate.open()
        #expect(await handled.wait { $0.count == 1_000 } == Array(0..<1_000))
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("handlers that are slow again and again keep the order, one at a time")
    func slowAgainAndAgain() async throws {
        let handled = Collected<Int>()
        let inside = Collected<Int>()
        let subscription = publisher.subscribe(to: ErrandGiven.self) { order in
            inside.add(1)
            if order.number % 50 == 0 {
                let gate = ErrandGate()
                Task {
                    try await Task.sleep(for: .milliseconds(8))
                    gate.open()
                }
                gate.block()
            }
            inside.add(-1)
            handled.add(order.number)
        }
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            [
                publisher.subscribe(to: ErrandsBegun.self) { _ async in
                    for number in 0..<1_000 {
                        publisher.publish(ErrandGiven(number: number))
                        if number % 100 == 0 { await Task.yield() }
                    }
                }
            ]
        }
        publisher.publish(ErrandsBegun())
        #expect(await handled.wait { $0.count == 1_000 } == Array(0..<1_000))
        var level = 0
        #expect(
            inside.all.allSatisfy {
                level += $0
                return level == 0 || level == 1
            }
        )
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("N7: a worker that takes nothing slows its publisher, and no other; its outbox stays bounded")
    func custody() async throws {
        let gate = ErrandGate()
        let atReceiver = Collected<Int>()
        let atOther = Collected<Int>()
        let count = 8_000
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("sender", subscribes: [ErrandsBegun.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandsBegun.self) { _ async in
                            // A task of its own: inside a handler nothing waits for room.
                            Task.detached {
                                let filler = String(repeating: "x", count: 1_000)
                                for number in 0..<count {
                                    try await publisher.send(ErrandParcel(number: number, filler: filler))
                                }
                            }
                        }
                    ]
                },
                InMemoryWorker(
                    "receiver",
                    subscribes: [ErrandParcel.self],
                    limits: WorkerLimits(outbox: 64 << 10)
                ) { publisher in
                    [
                        publisher.subscribe(to: ErrandParcel.self) { parcel async in
                            await gate.pass()
                            atReceiver.add(parcel.number)
                        }
                    ]
                },
                InMemoryWorker("other", subscribes: [ErrandGiven.self]) { publisher in
                    [publisher.subscribe(to: ErrandGiven.self) { atOther.add($0.number) }]
                },
            ]
        )
        publisher.publish(ErrandsBegun())
        func waiting() -> Int { bridge.leftovers.first { $0.worker == "receiver" }?.events ?? 0 }
        while waiting() < 64 { await Task.yield() }
        for number in 0..<2_000 { try await publisher.send(ErrandGiven(number: number)) }
        #expect(await atOther.wait { $0.count == 2_000 } == Array(0..<2_000))
        // The outbox's own limit, and an unacknowledged window of the sender.
        #expect(waiting() < 64 + 1_024 + 64)
        gate.open()
        #expect(await atReceiver.wait { $0.count == count } == Array(0..<count))
        await bridge.shutdown()
    }
}
