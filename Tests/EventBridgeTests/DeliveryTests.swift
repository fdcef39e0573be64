import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import Foundation
import Locks
import Supervision
import TestSupport
import Testing

/// An error with more to say than a refusal has room for.
private struct LongError: Error, CustomStringConvertible {
    let description = String(repeating: "e", count: 5_000)
}

@Suite("A caller that waits for an event hears from every process", .timeLimit(.minutes(5)))
struct DeliveryTests {
    private let publisher = EventPublisher()

    private static func text(_ body: () async throws -> DeliveryReceipt) async -> String {
        do {
            let receipt = try await body()
            return receipt.handlers.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        } catch let error as DeliveryError {
            return "\(error.code)"
        } catch {
            return "\(error)"
        }
    }

    @Test("deliver returns when the handlers here and in all workers have returned, and names them")
    func everyProcess() async throws {
        let gate = ErrandGate()
        let here = publisher.subscribe(to: ErrandGiven.self) { _ in }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("a", subscribes: [ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { _ in },
                        publisher.subscribe(to: ErrandGiven.self) { _ async in await gate.pass() },
                    ]
                },
                InMemoryWorker("b", subscribes: [ErrandGiven.self]) { [$0.subscribe(to: ErrandGiven.self) { _ in }] },
                InMemoryWorker("bystander") { _ in [] },
            ]
        )
        let finished = Collected<DeliveryReceipt>()
        let delivery = Task { [publisher] in
            finished.add(try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240)))
        }
        try await publisher.deliver(ErrandGiven(number: 0), within: .seconds(240), after: gate)
        try await delivery.value
        #expect(finished.all.map(\.handlers) == [["host": 1, "a": 2, "b": 1]])
        await bridge.shutdown()
        here.cancel()
    }

    @Test("deliver in a worker covers the host and the other workers")
    func fromWorker() async throws {
        let reports = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: ErrandReport.self) { reports.add($0.text) },
            publisher.subscribe(to: ErrandGiven.self) { _ in },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("sender", subscribes: [ErrandsBegun.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandsBegun.self) { _ async in
                            let text = await Self.text {
                                try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240))
                            }
                            publisher.publish(ErrandReport(text: text))
                        }
                    ]
                },
                InMemoryWorker("receiver", subscribes: [ErrandGiven.self]) {
                    [$0.subscribe(to: ErrandGiven.self) { _ in }]
                },
            ]
        )
        publisher.publish(ErrandsBegun())
        #expect(await reports.wait { $0.count == 1 } == ["host 1, receiver 1"])
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("what a handler in a worker throws is the error of deliver and of request, and is not announced besides")
    func refused() async throws {
        let recorder = EventRecorder(publisher)
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            [publisher.subscribe(to: ErrandGiven.self) { _ in throw ErrandBroken() }]
        }
        do {
            try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240))
            Issue.record("the refusal was not thrown")
        } catch let error as DeliveryError {
            #expect(error.code == .refused)
            #expect(error.event == "ErrandGiven" && error.id?.origin == publisher.source.origin)
            #expect(error.worker == "worker")
            // The place where the handler that threw was subscribed, in the other process.
            #expect(
                error.description.wholeMatch(
                    of: /worker refused ErrandGiven: the shelf is broken \(handler at \w+\/DeliveryTests\.swift:\d+\)/
                ) != nil,
                "\(error)"
            )
            #expect((error as any Error).localizedDescription == error.description)
        }
        await #expect {
            _ = try await publisher.request(
                ErrandGiven(number: 2),
                awaiting: ErrandDone.self,
                within: .seconds(240)
            )
        } throws: { ($0 as? DeliveryError)?.code == .refused }
        // The refusal of an event that no caller waits for is announced.
        publisher.publish(ErrandGiven(number: 3))
        let announced = try await recorder.next(EventRefused.self, within: .seconds(240))
        #expect(announced.reason.contains("DeliveryTests.swift:"))
        await bridge.shutdown()
        #expect(recorder.events(EventRefused.self).count == 1)
    }

    @Test("if two workers refuse, deliver throws the refusal of one; the other is announced, and its event is kept")
    func twoRefuse() async throws {
        let recorder = EventRecorder(publisher)
        let workers = ["a", "b"].map { name in
            InMemoryWorker(name, subscribes: [ErrandGiven.self]) {
                [$0.subscribe(to: ErrandGiven.self) { _ in throw ErrandBroken() }]
            }
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: workers)
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240))
        }
        #expect(error?.code == .refused)
        let other = error?.worker == "a" ? "b" : "a"
        #expect(bridge.deadLetters.map(\.worker) == [other])
        let announced = try await recorder.next(EventRefused.self, within: .seconds(240))
        #expect(announced.worker == other && announced.reason.contains("the shelf is broken"))
        await bridge.shutdown()
        #expect(recorder.events(EventRefused.self).count == 1)
    }

    @Test("a handler in a task and on a queue of a worker is named by its place as well", arguments: [true, false])
    func placeOfDeferred(isOnQueue: Bool) async throws {
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            guard isOnQueue else {
                return [publisher.subscribe(to: ErrandGiven.self) { _ async throws in throw ErrandBroken() }]
            }
            let queue = DispatchQueue(label: "errands")
            return [publisher.subscribe(to: ErrandGiven.self, on: .queue(queue)) { _ in throw ErrandBroken() }]
        }
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240))
        }
        #expect(error?.description.contains("the shelf is broken (handler at ") == true, "\(String(describing: error))")
        #expect(error?.description.contains("DeliveryTests.swift:") == true)
        await bridge.shutdown()
    }

    @Test("after the bridge's shutdown send, deliver and request say so, until there is another bridge")
    func afterShutdown() async throws {
        let worker = InMemoryWorker(subscribes: [ErrandGiven.self]) { publisher in
            [publisher.subscribe(to: ErrandGiven.self) { publisher.publish(ErrandDone(number: $0.number)) }]
        }
        // There is no subscriber, and there was no bridge: `send` does not throw for that.
        try await publisher.send(ErrandGiven(number: 0))
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        try await publisher.send(ErrandGiven(number: 1))
        await bridge.shutdown()
        let (publisher, limit) = (publisher, Duration.seconds(240))
        let errors = [
            await #expect(throws: DeliveryError.self) { try await publisher.send(ErrandGiven(number: 2)) },
            await #expect(throws: DeliveryError.self) {
                try await publisher.deliver(ErrandGiven(number: 3), within: limit)
            },
            await #expect(throws: DeliveryError.self) {
                try await publisher.request(ErrandGiven(number: 4), awaiting: ErrandDone.self, within: limit)
            },
        ]
        for error in errors {
            #expect(error?.code == .shuttingDown && error?.event == "ErrandGiven" && error?.id != nil)
        }
        // Deliveries to this process's own subscribers go on.
        let subscription = publisher.subscribe(to: ErrandsBegun.self) { _ in }
        try await publisher.send(ErrandsBegun())
        subscription.cancel()
        let other = try await BridgeHost.inMemory(publisher, workers: [worker])
        let done = try await publisher.request(ErrandGiven(number: 5), awaiting: ErrandDone.self, within: limit)
        #expect(done.number == 5)
        await other.shutdown()
    }

    @Test("an error keeps its words and the handler's place where its words are long")
    func placeOfLongError() async throws {
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            [publisher.subscribe(to: ErrandGiven.self) { _ in throw LongError() }]
        }
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240))
        }
        #expect(error?.description.hasPrefix("worker refused ErrandGiven: eeee") == true)
        #expect(error?.description.contains("e (handler at ") == true)
        #expect(error?.description.hasSuffix(")") == true)
        await bridge.shutdown()
    }

    @Test("one of two bridges is enough, and without both send says so, in a transaction as well")
    func oneOfTwoBridges() async throws {
        let idle = InMemoryWorker("idle") { _ in [] }
        let (one, other) = (
            try await BridgeHost.inMemory(publisher, workers: [idle]),
            try await BridgeHost.inMemory(publisher, workers: [idle])
        )
        await one.shutdown()
        try await publisher.send(ErrandGiven(number: 1))
        await other.shutdown()
        let error = await #expect(throws: DeliveryError.self) { try await publisher.send(ErrandGiven(number: 2)) }
        #expect(error?.description.contains("no bridge carries it any more") == true)
        // Also inside a transaction, which would hold the event.
        let held = await #expect(throws: DeliveryError.self) {
            try await publisher.transaction { try await publisher.send(ErrandGiven(number: 3)) }
        }
        #expect(held?.code == .shuttingDown)
    }

    @Test("deliver waits for both workers of one name, which two bridges have, though one of the bridges ends")
    func oneNameInTwoBridges() async throws {
        let (gate, begun) = (ErrandGate(), Collected<Void>())
        let one = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("shelf", subscribes: [ErrandGiven.self]) {
                    [$0.subscribe(to: ErrandGiven.self) { _ in }]
                }
            ]
        )
        let other = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("shelf", subscribes: [ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { _ async in
                            begun.add(())
                            await gate.pass()
                        }
                    ]
                }
            ]
        )
        let delivery = Task { [publisher] in
            try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240))
        }
        await begun.wait(for: 1)
        await one.shutdown()
        gate.open()
        #expect(try await delivery.value.handlers == ["shelf": 2])
        await other.shutdown()
    }

    @Test("deliver and request of an event that nothing wants say so")
    func unwanted() async throws {
        let bridge = try await BridgeHost.inMemory(publisher, workers: [InMemoryWorker("idle") { _ in [] }])
        #expect(
            await Self.text { try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240)) }
                == "noSubscriber"
        )
        await bridge.shutdown()
    }

    @Test("deliver that is not done in time names the process that was not heard from")
    func timedOut() async throws {
        let gate = ErrandGate()
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            [publisher.subscribe(to: ErrandGiven.self) { _ async in await gate.pass() }]
        }
        do {
            try await publisher.deliver(ErrandGiven(number: 1), within: .milliseconds(50))
            Issue.record("nothing timed out")
        } catch let error as DeliveryError {
            #expect(error.code == .timedOut)
            #expect(error.description.contains("nothing was heard from worker"))
        }
        gate.open()
        await bridge.shutdown()
    }

    @Test("deliver to a worker that dies of the event and is not started again ends then")
    func unavailable() async throws {
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("crash-on:crash", restart: .temporary, subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        #expect(
            await Self.text {
                try await publisher.deliver(WorkRequested(number: 1, text: "crash"), within: .seconds(240))
            }
                == "workerUnavailable"
        )
        await bridge.shutdown()
    }

    @Test("N5: a request inside an inline handler that blocks its thread is answered")
    func requestInsideHandler() async throws {
        let reports = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: ErrandReport.self) { reports.add($0.text) },
            publisher.subscribe(to: ErrandGiven.self) { [publisher] in publisher.publish(ErrandDone(number: $0.number))
            },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("asker", subscribes: [ErrandsBegun.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandsBegun.self) { _ in
                            let answer = Collected<Int>()
                            Task {
                                let confirmation = try await publisher.request(
                                    ErrandGiven(number: 7),
                                    awaiting: ErrandDone.self,
                                    within: .seconds(240)
                                )
                                answer.add(confirmation.number)
                            }
                            waitUntil { !answer.all.isEmpty }
                            publisher.publish(ErrandReport(text: "\(answer.all)"))
                        }
                    ]
                }
            ]
        )
        publisher.publish(ErrandsBegun())
        #expect(await reports.wait { $0.count == 1 } == ["[7]"])
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }
}

extension EventPublisher {
    /// Opens the gate when a first event has arrived, so that the second's delivery waits for it.
    fileprivate func deliver<E: DomainEvent>(_ event: E, within limit: Duration, after gate: ErrandGate) async throws {
        async let receipt = deliver(event, within: limit)
        gate.open()
        _ = try await receipt
    }
}
