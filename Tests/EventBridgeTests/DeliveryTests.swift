import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import Locks
import Supervision
import Testing

private struct ErrandGiven: DomainEvent {
    let number: Int
}

private struct ErrandDone: DomainEvent {
    let number: Int
}

private struct ErrandsBegun: DomainEvent {}

private struct ErrandReport: DomainEvent {
    let text: String
}

private struct Broken: Error, CustomStringConvertible {
    let description = "the shelf is broken"
}

/// Lets handlers wait, and says how many do.
private final class Gate: Sendable {
    private let opened = Collected<Void>()

    func open() { opened.add(()) }

    func pass() async { await opened.wait { !$0.isEmpty } }

    /// For handlers that block their thread.
    func block() {
        while opened.all.isEmpty { yieldThread() }
    }
}

@Suite("Whoever waits for an event hears from every process", .timeLimit(.minutes(5)))
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
        let gate = Gate()
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
            [publisher.subscribe(to: ErrandGiven.self) { _ in throw Broken() }]
        }
        do {
            try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240))
            Issue.record("the refusal was not thrown")
        } catch let error as DeliveryError {
            #expect(error.code == .refused)
            #expect(error.description.contains("worker") && error.description.contains("the shelf is broken"))
        }
        await #expect {
            _ = try await publisher.request(
                ErrandGiven(number: 2),
                awaiting: ErrandDone.self,
                within: .seconds(240)
            )
        } throws: { ($0 as? DeliveryError)?.code == .refused }
        // One that nobody waits for is announced.
        publisher.publish(ErrandGiven(number: 3))
        _ = try await recorder.next(EventRefused.self, within: .seconds(240))
        await bridge.shutdown()
        #expect(recorder.events(EventRefused.self).count == 1)
    }

    @Test("deliver and request of what nobody wants say so")
    func unwanted() async throws {
        let bridge = try await BridgeHost.inMemory(publisher, workers: [InMemoryWorker("idle") { _ in [] }])
        #expect(
            await Self.text { try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(240)) }
                == "nobodySubscribed"
        )
        await bridge.shutdown()
    }

    @Test("deliver that is not done in time names the process that was not heard from")
    func timedOut() async throws {
        let gate = Gate()
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
                            while answer.all.isEmpty { yieldThread() }
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
    fileprivate func deliver<E: DomainEvent>(_ event: E, within limit: Duration, after gate: Gate) async throws {
        async let receipt = deliver(event, within: limit)
        gate.open()
        _ = try await receipt
    }
}

@Suite("A slow handler slows its own link's handlers, and nobody else", .timeLimit(.minutes(5)))
struct SlowHandlerTests {
    private let publisher = EventPublisher()

    @Test("while a handler blocks, the link is read on: events for others pass, and its own follow in order")
    func readingGoesOn() async throws {
        let gate = Gate()
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
                let gate = Gate()
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

    @Test("N7: a worker that takes nothing slows who publishes to it, and nobody else; its outbox stays bounded")
    func custody() async throws {
        let gate = Gate()
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
        // Its own limit, and a window of the sender that is unacknowledged.
        #expect(waiting() < 64 + 1_024 + 64)
        gate.open()
        #expect(await atReceiver.wait { $0.count == count } == Array(0..<count))
        await bridge.shutdown()
    }
}

private struct ErrandParcel: DomainEvent {
    let number: Int
    let filler: String
}

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
                            if errand.number % 10 == 0 { throw Broken() }
                            publisher.publish(ErrandDone(number: errand.number))
                        }
                    ]
                },
                // By its specification it gets them for ever; what comes late finds no handler.
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
        let gate = Gate()
        let arrived = Collected<Int>()
        let answered = Collected<Int>()
        let subscription = publisher.subscribe(to: ErrandDone.self) { [publisher] errand in
            answered.add(errand.number)
            // A consequence: the worker gets it, though the bridge is shutting down.
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
        let gate = Gate()
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
}
