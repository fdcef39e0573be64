import DomainEvents
import EventBridge
import EventBridgeTesting
import Synchronization
import TestSupport
import Testing

@Suite("Back-pressure goes through workers that pass work on", .serialized, .timeLimit(.minutes(5)))
struct BackPressureTests {
    private let publisher = EventPublisher()

    private static let filler = String(repeating: "x", count: 4_000)

    /// The most bytes in an outbox of the host: its limit, one window of another worker's events, and one event.
    private static let bound = (4 << 20) + (1 << 20) + 8_192

    /// Counts up without waiting.
    private final class Counter: Sendable {
        private let value = Atomic(0)
        var count: Int { value.load(ordering: .relaxed) }
        func add() { value.wrappingAdd(1, ordering: .relaxed) }

        /// Waits until this many are counted: an event may arrive before its sender comes to count it.
        func wait(for count: Int) async { while self.count < count, !Task.isCancelled { await Task.yield() } }

        /// Waits until something is counted, and then no more for long enough that the sender has stopped; if the wait
        /// were too short, a test would show less.
        func waitUntilStill() async throws {
            var before = 0
            repeat {
                before = count
                try await Task.sleep(for: .milliseconds(300))
            } while before == 0 || before < count
        }
    }

    /// A worker that sends `count` parcels from a task of its own, as fast as there is room.
    private static func source(_ name: String, _ count: Int, _ sent: Counter) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [ErrandsBegun.self]) { publisher in
            [
                publisher.subscribe(to: ErrandsBegun.self) { _ in
                    Task.detached {
                        for number in 1...count {
                            try await publisher.send(ErrandParcel(number: number, filler: filler))
                            sent.add()
                        }
                    }
                }
            ]
        }
    }

    @Test("a slow worker at the end of a chain slows the sender at its beginning, and nothing grows or is dropped")
    func chain() async throws {
        let count = 20_000
        let sent = Counter()
        let gate = ErrandGate()
        let arrived = Collected<String>()
        let dropped = Collected<EventsDropped>()
        let subscription = publisher.subscribe(to: EventsDropped.self) { dropped.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                Self.source("first", count, sent),
                InMemoryWorker("second", subscribes: [ErrandParcel.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandParcel.self) { parcel in
                            publisher.publish(ErrandReport(text: "\(parcel.number) \(parcel.filler)"))
                        },
                        publisher.subscribe(to: EventsDropped.self) { dropped.add($0) },
                    ]
                },
                InMemoryWorker("third", subscribes: [ErrandReport.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandReport.self) { report in
                            gate.block()
                            arrived.add(String(report.text.prefix { $0 != " " }))
                        }
                    ]
                },
            ]
        )
        publisher.publish(ErrandsBegun())
        try await sent.waitUntilStill()
        #expect(sent.count < count / 2)
        for worker in bridge.statistics {
            #expect(worker.sent.waitingBytes <= Self.bound, "\(worker.worker): \(worker.sent.waitingBytes)")
        }
        gate.open()
        #expect(await arrived.wait(for: count) == (1...count).map(String.init))
        await sent.wait(for: count)
        await bridge.shutdown()
        #expect(dropped.all.isEmpty)
        subscription.cancel()
    }

    @Test("a slow worker slows the sender of events that the host refuses")
    func refused() async throws {
        let count = 20_000
        let sent = Counter()
        let gate = ErrandGate()
        let arrived = Collected<Int>()
        let dropped = Collected<EventsDropped>()
        let subscriptions = [
            publisher.subscribe(to: ErrandParcel.self) { _ in throw ErrandBroken() },
            publisher.subscribe(to: EventsDropped.self) { dropped.add($0) },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                Self.source("first", count, sent),
                InMemoryWorker("third", subscribes: [ErrandParcel.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandParcel.self) { parcel in
                            gate.block()
                            arrived.add(parcel.number)
                        }
                    ]
                },
            ],
            deadLetters: DeadLetterLimits(letters: 10, whenFull: .evictOldest)
        )
        publisher.publish(ErrandsBegun())
        try await sent.waitUntilStill()
        #expect(sent.count < count / 2)
        for worker in bridge.statistics {
            #expect(worker.sent.waitingBytes <= Self.bound, "\(worker.worker): \(worker.sent.waitingBytes)")
        }
        gate.open()
        #expect(await arrived.wait(for: count) == Array(1...count))
        await sent.wait(for: count)
        await bridge.shutdown()
        #expect(dropped.all.isEmpty)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("a request that the host refuses ends at once, and is not reported when a slow worker has room again")
    func refusedRequest() async throws {
        let gate = ErrandGate()
        let arrived = Collected<Int>()
        let (errors, reports) = (Collected<String>(), Collected<String>())
        let subscription = publisher.subscribe(to: ErrandParcel.self) { _ in throw ErrandBroken() }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("first", subscribes: [ErrandsBegun.self, ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandsBegun.self) { _ async in
                            do {
                                _ = try await publisher.request(
                                    ErrandParcel(number: 1, filler: Self.filler),
                                    awaiting: ErrandDone.self,
                                    within: .seconds(240)
                                )
                            } catch {
                                errors.add("\((error as? DeliveryError)?.code == .refused)")
                            }
                        },
                        publisher.subscribe(to: ErrandGiven.self) {
                            publisher.publish(ErrandParcel(number: $0.number, filler: ""))
                        },
                        publisher.subscribe(to: EventRefused.self) { reports.add("\($0.event) \($0.id)") },
                    ]
                },
                InMemoryWorker(
                    "third",
                    subscribes: [ErrandParcel.self],
                    limits: WorkerLimits(outbox: 1_024)
                ) { publisher in
                    [
                        publisher.subscribe(to: ErrandParcel.self) { parcel in
                            gate.block()
                            arrived.add(parcel.number)
                        }
                    ]
                },
            ]
        )
        publisher.publish(ErrandsBegun())
        // The slow worker has no room: the error does not wait for that.
        #expect(await errors.wait(for: 1) == ["true"])
        gate.open()
        await arrived.wait(for: 1)
        await bridge.waitUntilIdle()
        // The report of an event that no call waits for comes behind a report of the first.
        let marker = Collected<String>()
        let marked = publisher.subscribe(to: ErrandParcel.self) { _ in
            if let id = EventContext.current?.id { marker.add("ErrandParcel \(id)") }
        }
        publisher.publish(ErrandGiven(number: 2))
        await reports.wait(for: 1)
        #expect(reports.all == marker.all)
        await bridge.shutdown()
        subscription.cancel()
        marked.cancel()
    }

    @Test("a slow handler in the host slows the sender at the beginning of a chain, be it the host itself")
    func chainFromHost() async throws {
        let count = 20_000
        let sent = Counter()
        let gate = ErrandGate()
        let arrived = Collected<String>()
        let dropped = Collected<EventsDropped>()
        let subscriptions = [
            publisher.subscribe(to: ErrandReport.self) { report in
                gate.block()
                arrived.add(String(report.text.prefix { $0 != " " }))
            },
            publisher.subscribe(to: EventsDropped.self) { dropped.add($0) },
        ]
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            [
                publisher.subscribe(to: ErrandParcel.self) { parcel in
                    publisher.publish(ErrandReport(text: "\(parcel.number) \(parcel.filler)"))
                },
                publisher.subscribe(to: EventsDropped.self) { dropped.add($0) },
            ]
        }
        let sender = Task { [publisher] in
            for number in 1...count {
                try await publisher.send(ErrandParcel(number: number, filler: Self.filler))
                sent.add()
            }
        }
        try await sent.waitUntilStill()
        #expect(sent.count < count / 2)
        #expect(bridge.statistics[0].sent.waitingBytes <= Self.bound)
        gate.open()
        #expect(await arrived.wait(for: count) == (1...count).map(String.init))
        try await sender.value
        await bridge.shutdown()
        #expect(dropped.all.isEmpty)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("workers that flood one another, and answer each event, do not wait for one another for ever")
    func circle() async throws {
        let count = 5_000
        let answers = Collected<Int>()
        let (given, done) = (Counter(), Counter())
        let dropped = Collected<EventsDropped>()
        let subscription = publisher.subscribe(to: EventsDropped.self) { dropped.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                flooding("left", with: RightParcel.self, count, given, answering: LeftParcel.self) {
                    LeftAnswer(number: $0.number, filler: $0.filler)
                } answered: { (answer: RightAnswer) in
                    answers.add(answer.number)
                } dropped: {
                    dropped.add($0)
                },
                flooding("right", with: LeftParcel.self, count, done, answering: RightParcel.self) {
                    RightAnswer(number: $0.number, filler: $0.filler)
                } answered: { (answer: LeftAnswer) in
                    answers.add(answer.number)
                } dropped: {
                    dropped.add($0)
                },
            ]
        )
        publisher.publish(ErrandsBegun())
        await answers.wait(for: 2 * count)
        await given.wait(for: count)
        await done.wait(for: count)
        #expect(answers.count == 2 * count)
        await bridge.shutdown()
        #expect(dropped.all.isEmpty)
        subscription.cancel()
    }

    /// A worker that sends parcels to the other worker, answers each parcel that it gets, and gets the answers to its
    /// own.
    private func flooding<Sent: Parcel, Own: Parcel, Answer: DomainEvent, Answered: DomainEvent>(
        _ name: String,
        with sent: Sent.Type,
        _ count: Int,
        _ sendings: Counter,
        answering own: Own.Type,
        by answer: @escaping @Sendable (Own) -> Answer,
        answered: @escaping @Sendable (Answered) -> Void,
        dropped: @escaping @Sendable (EventsDropped) -> Void
    ) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [ErrandsBegun.self, Own.self, Answered.self]) { publisher in
            [
                publisher.subscribe(to: ErrandsBegun.self) { _ in
                    Task.detached {
                        for number in 1...count {
                            try await publisher.send(Sent(number: number, filler: Self.filler))
                            sendings.add()
                        }
                    }
                },
                publisher.subscribe(to: Own.self) { publisher.publish(answer($0)) },
                publisher.subscribe(to: Answered.self, answered),
                publisher.subscribe(to: EventsDropped.self, dropped),
            ]
        }
    }

    private struct LeftParcel: Parcel {
        let number: Int
        let filler: String
    }

    private struct RightParcel: Parcel {
        let number: Int
        let filler: String
    }

    private struct LeftAnswer: DomainEvent {
        let number: Int
        let filler: String
    }

    private struct RightAnswer: DomainEvent {
        let number: Int
        let filler: String
    }
}

private protocol Parcel: DomainEvent {
    init(number: Int, filler: String)
}
