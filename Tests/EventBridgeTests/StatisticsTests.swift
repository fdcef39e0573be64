import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

@Suite("The books are balanced, and what a shutdown leaves is told", .timeLimit(.minutes(5)))
struct StatisticsTests {
    private let publisher = EventPublisher()

    @Test("every event is in one column, at both ends, also of a worker that was started again")
    func balanced() async throws {
        let recorder = EventRecorder(publisher)
        let handled = Collected<Int>()
        let subscription = publisher.subscribe(to: ErrandDone.self) { handled.add($0.number) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("a", subscribes: [ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { errand in
                            if errand.number % 10 == 0 { throw ErrandBroken() }
                            publisher.publish(ErrandDone(number: errand.number))
                        }
                    ]
                },
                // The specification says that the worker gets these events; late events find no handler.
                InMemoryWorker("b", subscribes: [ErrandGiven.self]) { publisher in
                    let subscription = publisher.subscribe(to: ErrandGiven.self) { _ in }
                    Task.detached {
                        await handled.wait { !$0.isEmpty }
                        subscription.cancel()
                    }
                    return [subscription]
                },
            ]
        )
        for number in 1...1_000 { publisher.publish(ErrandGiven(number: number)) }
        await handled.wait { $0.count == 900 }
        await bridge.waitUntilIdle()
        let report = await bridge.shutdown()
        #expect(report.isComplete)
        let statistics = bridge.statistics
        #expect(statistics.map(\.worker) == ["a", "b"])
        for worker in statistics {
            #expect(worker.sent.isBalanced && worker.received.isBalanced, "\(worker)")
            #expect(worker.sent.waiting == 0 && worker.received.waiting == 0)
        }
        #expect(statistics[0].sent.accepted == 1_000)
        #expect(statistics[0].sent.handled == 900)
        #expect(statistics[0].sent.refused == 100)
        #expect(statistics[0].received.handled == 900)
        #expect(recorder.events(EventRefused.self).count == 100)
        #expect(statistics[1].sent.accepted == statistics[1].sent.handled + statistics[1].sent.unwanted)
        subscription.cancel()
    }

    @Test("during a shutdown nothing new is taken, and what handlers publish still passes")
    func twoPhases() async throws {
        let gate = ErrandGate()
        let arrived = Collected<Int>()
        let answered = Collected<Int>()
        let subscription = publisher.subscribe(to: ErrandDone.self) { [publisher] errand in
            answered.add(errand.number)
            // The worker gets this consequence although the bridge is shutting down.
            if errand.number == 1 { publisher.publish(ErrandGiven(number: 2)) }
        }
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            [
                publisher.subscribe(to: ErrandGiven.self) { errand async in
                    arrived.add(errand.number)
                    await gate.pass()
                    publisher.publish(ErrandDone(number: errand.number))
                }
            ]
        }
        publisher.publish(ErrandGiven(number: 1))
        await arrived.wait { $0.count == 1 }
        let end = Task { await bridge.shutdown(drainingWithin: .seconds(240)) }
        var refusal: DeliveryError.Code?
        while refusal == nil {
            do {
                try await publisher.send(ErrandsBegun())
                _ = try await publisher.deliver(ErrandGiven(number: 3), within: .milliseconds(1))
            } catch let error as DeliveryError where error.code != .timedOut {
                refusal = error.code
            } catch {
                await Task.yield()
            }
        }
        #expect(refusal == .shuttingDown)
        gate.open()
        #expect(await end.value.isComplete)
        #expect(answered.all.filter { $0 < 3 } == [1, 2])
        subscription.cancel()
    }

    @Test("a shutdown that is not waited for tells what each worker has left")
    func leftovers() async throws {
        let gate = ErrandGate()
        let arrived = Collected<Int>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("stuck", subscribes: [ErrandGiven.self], shutdown: .killing) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { errand async in
                            arrived.add(errand.number)
                            await gate.pass()
                        }
                    ]
                }
            ]
        )
        for number in 1...3 { publisher.publish(ErrandGiven(number: number)) }
        await arrived.wait { $0.count == 1 }
        let report = await bridge.shutdown(drainingWithin: .milliseconds(10))
        #expect(report.leftovers.map(\.worker) == ["stuck"])
        #expect(report.leftovers.map(\.events) == [3])
        gate.open()
    }

    @Test("how long events take to be settled is sampled, refused ones too, over all starts of the worker")
    func settling() async throws {
        let reports = WorkerReports(publisher)
        let (gate, arrived) = (ErrandGate(), Collected<Int>())
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("a", subscribes: [ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { errand in
                            arrived.add(errand.number)
                            if errand.number == 1 { gate.block() }
                            if errand.number == 2 { throw ErrandBroken() }
                        }
                    ]
                }
            ]
        )
        #expect(bridge.statistics[0].settling.count == 0)
        publisher.publish(ErrandGiven(number: 1))
        await arrived.wait { $0.count == 1 }
        let clock = ContinuousClock()
        let handling = clock.now
        // Published after it, so these are part of no other sample.
        for number in 3...12 { publisher.publish(ErrandGiven(number: number)) }
        #expect(bridge.statistics[0].settling.count == 0)
        let held = clock.now - handling
        gate.open()
        await bridge.waitUntilIdle()
        let first = bridge.statistics[0].settling
        #expect(first.count >= 1 && first.count < 11)
        #expect(first.longest >= held)
        publisher.publish(ErrandGiven(number: 2))
        await bridge.waitUntilIdle()
        let second = bridge.statistics[0].settling
        #expect(second.count > first.count)
        bridge.restart("a")
        await reports.ready.wait { $0.count == 2 }
        #expect(bridge.statistics[0].settling == second)
        publisher.publish(ErrandGiven(number: 13))
        await bridge.waitUntilIdle()
        #expect(bridge.statistics[0].settling.count == second.count + 1)
        await bridge.shutdown()
        reports.end()
    }
}
