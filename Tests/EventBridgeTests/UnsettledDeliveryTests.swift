import BridgeWorker
import CBOR
import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting
import TestSupport
import Testing

@Suite("A worker that acknowledges by its own call", .timeLimit(.minutes(5)))
struct UnsettledDeliveryTests {
    private typealias Held = Collected<UnsettledDelivery<UntypedEvent>>

    private let publisher = EventPublisher()

    private func worker(_ held: Held, _ sessions: Collected<WorkerSession?> = Collected()) -> InMemoryWorker {
        InMemoryWorker(
            "gateway",
            subscribes: [ErrandGiven.self],
            shutdown: .draining(grace: .seconds(240))
        ) { publisher in
            sessions.add(WorkerSession.current)
            return [
                try publisher.subscribe(toEventsNamed: "ErrandGiven", on: .queue(.global()), acknowledging: .manually) {
                    held.add($0)
                }
            ]
        }
    }

    @Test("gets 256 events in order before it acknowledges the first, and the host counts each when it is acknowledged")
    func inFlight() async throws {
        let held = Held()
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker(held)])
        for number in 0..<256 { publisher.publish(ErrandGiven(number: number)) }
        let deliveries = await held.wait(for: 256)
        let numbers = try deliveries.map { try CBORDecoder().decode(ErrandGiven.self, from: $0.event.payload).number }
        #expect(numbers == Array(0..<256))
        #expect(bridge.statistics.first?.sent.handled == 0)
        // In any order: here the last one first.
        for delivery in deliveries.reversed() { delivery.acknowledge() }
        while bridge.statistics.first?.sent.handled != 256 { await Task.yield() }
        await bridge.shutdown()
    }

    @Test("refuses with its own words, and with clear ones where it forgets a delivery")
    func refusals() async throws {
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway", subscribes: [ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self, on: .queue(.global()), acknowledging: .manually) {
                            if $0.event.number == 1 { $0.refuse(ErrandBroken()) }
                        }
                    ]
                }
            ]
        )
        for (number, text) in [(1, "the shelf is broken"), (2, "without acknowledge() or refuse(_:)")] {
            let error = await #expect(throws: DeliveryError.self) {
                try await publisher.deliver(ErrandGiven(number: number), within: .seconds(240))
            }
            #expect(error?.code == .refused && error?.worker == "gateway")
            #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
        }
        await bridge.shutdown()
    }

    @Test("gets again what it had not acknowledged when it died, and nothing else")
    func comesAgain() async throws {
        let held = Held()
        let sessions = Collected<WorkerSession?>()
        let exits = Collected<String>()
        let reports = publisher.subscribe(to: WorkerExited.self) { exits.add($0.worker) }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker(held, sessions)])
        let receipt = Task { [publisher] in
            try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240))
        }
        await held.wait(for: 1)
        for number in 2...5 { publisher.publish(ErrandGiven(number: number)) }
        await held.wait(for: 5)
        held.all[0].acknowledge()
        _ = try await receipt.value
        // The receipt may overtake the link's acknowledgement, without which the event would come again.
        while bridge.statistics.first?.sent.handled != 1 { await Task.yield() }
        try #require(sessions.all[0]).abandon()
        // Each of them may be the one that the process died of, so the next one comes when one is settled.
        for index in 1..<5 {
            let again = try #require(await held.wait(for: 5 + index).last)
            #expect(again.context.id == held.all[index].context.id && again.context.attempt == 2)
            // A delivery of the dead process settles nothing.
            held.all[index].refuse(ErrandBroken())
            again.acknowledge()
        }
        let last = Task { [publisher] in try await publisher.deliver(ErrandGiven(number: 6), within: .seconds(240)) }
        let delivery = try #require(await held.wait(for: 10).last)
        delivery.acknowledge()
        #expect(try await last.value.handlers == ["gateway": 1])
        await bridge.waitUntilIdle()
        #expect(exits.all == ["gateway"] && bridge.deadLetters.isEmpty)
        await bridge.shutdown()
        reports.cancel()
    }

    @Test("drains only when all deliveries are settled, and then gets none of them again")
    func drains() async throws {
        let held = Held()
        let sessions = Collected<WorkerSession?>()
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker(held, sessions)])
        publisher.publish(ErrandGiven(number: 1))
        let delivery = try #require(await held.wait(for: 1).first)
        bridge.restart("gateway")
        while bridge.status.first?.state != .draining { await Task.yield() }
        #expect(sessions.count == 1)
        delivery.acknowledge()
        await sessions.wait(for: 2)
        let last = Task { [publisher] in try await publisher.deliver(ErrandGiven(number: 2), within: .seconds(240)) }
        let next = try #require(await held.wait(for: 2).last)
        #expect(next.context.attempt == 1 && next.context.id != delivery.context.id)
        next.acknowledge()
        #expect(try await last.value.handlers == ["gateway": 1])
        await bridge.shutdown()
    }
}
