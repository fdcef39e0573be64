import BridgeWorker
import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting
import Synchronization
import TestSupport
import Testing

/// A ball that two parties throw to each other.
private struct BallThrownLeft: DomainEvent {
    let generation: Int
}

private struct BallThrownRight: DomainEvent {
    let generation: Int
}

/// Counts what two parties have published, handled, and lost.
private final class ThrowLedger: Sendable {
    let published = Atomic<Int>(0)
    let handled = Atomic<Int>(0)
    let dropped = Atomic<Int>(0)

    var difference: Int {
        published.load(ordering: .relaxed) - handled.load(ordering: .relaxed) - dropped.load(ordering: .relaxed)
    }

    func reports(on publisher: EventPublisher) -> Subscription {
        publisher.subscribe(to: EventsDropped.self) { self.dropped.wrappingAdd($0.count, ordering: .relaxed) }
    }

    func publish(_ event: some DomainEvent, on publisher: EventPublisher) {
        published.wrappingAdd(1, ordering: .relaxed)
        publisher.publish(event)
    }

    /// Throws two balls back for each ball, up to a generation.
    func left(_ publisher: EventPublisher, generations: Int) -> Subscription {
        publisher.subscribe(to: BallThrownLeft.self) { ball in
            self.handled.wrappingAdd(1, ordering: .relaxed)
            guard ball.generation < generations else { return }
            for _ in 0..<2 { self.publish(BallThrownRight(generation: ball.generation + 1), on: publisher) }
        }
    }

    func right(_ publisher: EventPublisher, generations: Int) -> Subscription {
        publisher.subscribe(to: BallThrownRight.self) { ball in
            self.handled.wrappingAdd(1, ordering: .relaxed)
            guard ball.generation < generations else { return }
            for _ in 0..<2 { self.publish(BallThrownLeft(generation: ball.generation + 1), on: publisher) }
        }
    }
}

@Suite("Full outboxes: all processes go on, nothing is lost in silence", .serialized, .timeLimit(.minutes(5)))
struct FullOutboxTests {
    private let publisher = EventPublisher()

    /// Room for four events, and for as many as there are, or for 64.
    private static let roomiest = WorkerLimits(outbox: 1 << 10)
    private static let narrow = WorkerLimits(outbox: 1 << 10, outboxHardLimit: 16 << 10)
    /// Several windows' worth of events in the last generations.
    private static let generations = 12

    @Test(
        "N1: two workers that publish two events for each go on though every window and outbox is full; the ledger balances",
        arguments: [roomiest, narrow]
    )
    func twoForOneBetweenWorkers(limits: WorkerLimits) async throws {
        let ledger = ThrowLedger()
        let reports = ledger.reports(on: publisher)
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("left", subscribes: [BallThrownLeft.self], limits: limits) {
                    [ledger.left($0, generations: Self.generations)]
                },
                InMemoryWorker("right", subscribes: [BallThrownRight.self], limits: limits) {
                    [ledger.right($0, generations: Self.generations)]
                },
            ]
        )
        ledger.publish(BallThrownLeft(generation: 0), on: publisher)
        ledger.publish(BallThrownRight(generation: 0), on: publisher)
        await bridge.waitUntilIdle()
        // Losses are announced after they have been gathered for a moment, or at the end.
        await bridge.shutdown()
        #expect(ledger.difference == 0)
        if limits == Self.roomiest {
            #expect(ledger.dropped.load(ordering: .relaxed) == 0)
            #expect(ledger.handled.load(ordering: .relaxed) == 2 * ((1 << (Self.generations + 1)) - 1))
        }
        reports.cancel()
    }

    @Test(
        "C13: host and worker that flood each other go on, full in both directions; the ledger balances",
        arguments: [roomiest, narrow]
    )
    func twoForOneBetweenHostAndWorker(limits: WorkerLimits) async throws {
        let ledger = ThrowLedger()
        let subscriptions = [ledger.reports(on: publisher), ledger.right(publisher, generations: Self.generations)]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("left", subscribes: [BallThrownLeft.self], limits: limits) {
                    [ledger.left($0, generations: Self.generations)]
                }
            ]
        )
        ledger.publish(BallThrownLeft(generation: 0), on: publisher)
        await bridge.waitUntilIdle()
        await bridge.shutdown()
        #expect(ledger.difference == 0)
        if limits == Self.roomiest { #expect(ledger.dropped.load(ordering: .relaxed) == 0) }
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("C15: a handler that publishes 1,000 events for each fills its own window, and not the host")
    func feedback() async throws {
        let gate = Collected<Void>()
        let handled = Collected<Int>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("multiplier", subscribes: [CrateAnnounced.self]) { publisher in
                    [
                        publisher.subscribe(to: CrateAnnounced.self) { announced in
                            guard announced.number >= 0 else { return }
                            for item in 0..<1_000 {
                                publisher.publish(CrateSent(number: announced.number * 1_000 + item, filler: ""))
                            }
                        }
                    ]
                },
                Self.gated("receiver", gate, handled),
            ]
        )
        for number in 0..<20 { publisher.publish(CrateAnnounced(number: number)) }
        while depth(of: "receiver", in: bridge) < Self.crowd { await Task.yield() }
        // Each of these goes there and back, so all events that can pass have passed.
        var deepest = 0
        for _ in 0..<100 {
            try await publisher.deliver(CrateAnnounced(number: -1), within: .seconds(240))
            deepest = max(deepest, depth(of: "receiver", in: bridge))
        }
        // The outbox's own limit, and an unacknowledged window of the sender.
        #expect(deepest <= Self.crowd + 4_096)
        gate.add(())
        #expect(await handled.wait { $0.count == 20_000 } == Array(0..<20_000))
        await bridge.shutdown()
    }

    @Test("C1: what is kept for a slow worker is bounded: send waits, and other workers get their events")
    func slowWorker() async throws {
        let gate = Collected<Void>()
        let handled = Collected<Int>()
        let atOther = Collected<Int>()
        let sent = Collected<Int>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                Self.gated("slow", gate, handled),
                InMemoryWorker("other", subscribes: [CrateAnnounced.self]) { publisher in
                    [publisher.subscribe(to: CrateAnnounced.self) { atOther.add($0.number) }]
                },
            ]
        )
        let producer = Task { [publisher] in
            let filler = String(repeating: "x", count: 1_000)
            for number in 0..<2_000 {
                try await publisher.send(CrateSent(number: number, filler: filler))
                sent.add(number)
            }
        }
        await sent.wait { $0.count > 60 }
        for number in 0..<2_000 { try await publisher.send(CrateAnnounced(number: number)) }
        #expect(await atOther.wait { $0.count == 2_000 } == Array(0..<2_000))
        // 64 KiB hold 65 events of more than 1,000 bytes each, the last of them in part.
        #expect(sent.all.count <= 66)
        gate.add(())
        try await producer.value
        #expect(await handled.wait { $0.count == 2_000 } == Array(0..<2_000))
        await bridge.shutdown()
    }

    @Test(
        "C1: of many that wait to send large events, all are woken at once, each sends in its turn, and none is refused"
    )
    func manyWait() async throws {
        let (gate, handled) = (Collected<Void>(), Collected<Int>())
        let limits = WorkerLimits(outbox: 32 << 10, outboxHardLimit: 128 << 10)
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.gated("slow", gate, handled, limits: limits)]
        )
        let filler = String(repeating: "x", count: 60_000)
        let executor = TurnExecutor()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask(executorPreference: executor) { [publisher] in
                    try await publisher.send(CrateSent(number: number, filler: filler))
                }
            }
            // The first event is beyond the limit, so seven tasks wait.
            await executor.untilAllSuspend()
            #expect(depth(of: "slow", in: bridge) == 1)
            gate.add(())
            try await group.waitForAll()
        }
        #expect(await handled.wait { $0.count == 8 }.sorted() == Array(0..<8))
        await bridge.shutdown()
    }

    @Test("C1: of many that wait to send large events, none encodes its event each time that another one is sent")
    func manyWaitAndEncodeOnce() async throws {
        let (gate, handled, count) = (Collected<Void>(), Collected<Int>(), 16)
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker(
                    "slow",
                    subscribes: [CrateMeasured.self],
                    limits: WorkerLimits(outbox: 32 << 10, outboxHardLimit: 128 << 10)
                ) { publisher in
                    [
                        publisher.subscribe(to: CrateMeasured.self) { crate async in
                            await gate.wait { !$0.isEmpty }
                            handled.add(crate.number)
                        }
                    ]
                }
            ]
        )
        let filler = String(repeating: "x", count: 60_000)
        let executor = TurnExecutor()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask(executorPreference: executor) { [publisher] in
                    try await publisher.send(CrateMeasured(number: number, filler: filler))
                }
            }
            await executor.untilAllSuspend()
            gate.add(())
            try await group.waitForAll()
        }
        #expect(await handled.wait { $0.count == count }.sorted() == Array(0..<count))
        // Once to find that there is no room, and once to be sent.
        #expect(CrateMeasured.encodings.load(ordering: .relaxed) <= 2 * count)
        await bridge.shutdown()
    }

    @Test("C1: of many deliveries of large events that wait for room, none is refused")
    func manyDeliveriesWait() async throws {
        let (gate, handled, begun) = (Collected<Void>(), Collected<Int>(), Collected<Void>())
        let limits = WorkerLimits(outbox: 32 << 10, outboxHardLimit: 128 << 10)
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.gated("slow", gate, handled, limits: limits)]
        )
        let filler = String(repeating: "x", count: 60_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask { [publisher] in
                    begun.add(())
                    try await publisher.deliver(CrateSent(number: number, filler: filler), within: .seconds(240))
                }
            }
            await begun.wait { $0.count == 8 }
            // Most deliveries wait by then; one that does not finds room, or waits later.
            for _ in 0..<1_000 { await Task.yield() }
            gate.add(())
            try await group.waitForAll()
        }
        #expect(handled.all.sorted() == Array(0..<8))
        await bridge.shutdown()
    }

    @Test("C1: of many that wait to send large events over two bridges, each sends in its turn, and none is refused")
    func manyWaitForTwoBridges() async throws {
        let (gate, handled) = (Collected<Void>(), Collected<Int>())
        let limits = WorkerLimits(outbox: 32 << 10, outboxHardLimit: 128 << 10)
        let (first, second) = try await (
            BridgeHost.inMemory(publisher, workers: [Self.gated("slow", gate, handled, limits: limits)]),
            BridgeHost.inMemory(publisher, workers: [Self.gated("slow", gate, handled, limits: limits)])
        )
        let filler = String(repeating: "x", count: 60_000)
        let executor = TurnExecutor()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask(executorPreference: executor) { [publisher] in
                    try await publisher.send(CrateSent(number: number, filler: filler))
                }
            }
            await executor.untilAllSuspend()
            #expect([first, second].map { depth(of: "slow", in: $0) } == [1, 1])
            gate.add(())
            try await group.waitForAll()
        }
        #expect(await handled.wait { $0.count == 16 }.sorted() == (0..<16).map { $0 / 2 })
        for bridge in [first, second] { await bridge.shutdown() }
    }

    @Test("C8: an event that a worker of one of two bridges does not take is refused, and no worker gets it")
    func tooLargeForOneBridge() async throws {
        let (handled, open) = (Collected<Int>(), Collected<Void>())
        open.add(())
        let (roomy, narrow) = try await (
            BridgeHost.inMemory(publisher, workers: [Self.gated("roomy", open, handled, limits: WorkerLimits())]),
            BridgeHost.inMemory(
                publisher,
                workers: [Self.gated("narrow", open, handled, limits: WorkerLimits(frame: 64 << 10))]
            )
        )
        let large = CrateSent(number: 1, filler: String(repeating: "x", count: 70_000))
        for isDelivery in [false, true] {
            let error = await #expect(throws: DeliveryError.self) {
                if isDelivery {
                    try await publisher.deliver(large, within: .seconds(240))
                } else {
                    try await publisher.send(large)
                }
            }
            #expect(error?.code == .eventTooLarge)
        }
        try await publisher.deliver(CrateSent(number: 2, filler: ""), within: .seconds(240))
        #expect(handled.all == [2, 2])
        for bridge in [roomy, narrow] { await bridge.shutdown() }
    }

    @Test("C1: below the limit one more event always fits, however large, also where publish drops at that limit")
    func oneMoreFits() async throws {
        let (gate, handled) = (Collected<Void>(), Collected<Int>())
        let limits = WorkerLimits(outbox: 64 << 10, outboxHardLimit: 64 << 10)
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.gated("slow", gate, handled, limits: limits)]
        )
        let filler = String(repeating: "x", count: 40_000)
        try await publisher.send(CrateSent(number: 1, filler: filler))
        try await publisher.send(CrateSent(number: 2, filler: filler))
        let executor = TurnExecutor()
        let third = Task(executorPreference: executor) { [publisher] in
            try await publisher.send(CrateSent(number: 3, filler: filler))
        }
        await executor.untilAllSuspend()
        #expect(depth(of: "slow", in: bridge) == 2)
        gate.add(())
        _ = try await third.value
        #expect(await handled.wait { $0.count == 3 } == [1, 2, 3])
        await bridge.shutdown()
    }

    @Test("C12: a send that is cancelled is either accepted and handled once, or throws and never arrives")
    func cancelledSend() async throws {
        var random = SeededGenerator.announced()
        let gate = Collected<Void>()
        let handled = Collected<Int>()
        let accepted = Collected<Int>()
        let refused = Collected<Int>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.gated("slow", gate, handled, limits: Self.roomiest)]
        )
        func sending(_ number: Int) -> Task<Void, any Error> {
            Task { [publisher] in
                do {
                    try await publisher.send(CrateSent(number: number, filler: ""))
                    accepted.add(number)
                } catch is CancellationError {
                    refused.add(number)
                }
            }
        }
        // There is no room, and none will come: each of these sends throws.
        for number in -4..<0 { publisher.publish(CrateSent(number: number, filler: "")) }
        let hopeless = (0..<100).map(sending)
        for task in hopeless { task.cancel() }
        for task in hopeless { try await task.value }
        #expect(refused.all.sorted() == Array(0..<100))
        gate.add(())
        // Room comes and goes, and the quicker senders get it.
        for round in 1...300 {
            let tasks = (0..<8).map { sending(round * 100 + $0) }
            for task in tasks where Bool.random(using: &random) {
                for _ in 0..<Int.random(in: 0...20, using: &random) { await Task.yield() }
                task.cancel()
            }
            for task in tasks { try await task.value }
        }
        await bridge.waitUntilIdle()
        #expect(accepted.all.count + refused.all.count == 100 + 300 * 8)
        #expect(handled.all.filter { $0 >= 0 }.sorted() == accepted.all.sorted())
        await bridge.shutdown()
    }

    @Test("C8: an event that one of two workers cannot take is refused to its sender, and no worker gets it")
    func tooLarge() async throws {
        let handled = Collected<Int>()
        let open = Collected<Void>()
        open.add(())
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                Self.gated("roomy", open, handled, limits: WorkerLimits()),
                Self.gated("narrow", open, handled, limits: WorkerLimits(frame: 64 << 10)),
            ]
        )
        await #expect {
            try await publisher.send(CrateSent(number: 1, filler: String(repeating: "x", count: 70_000)))
        } throws: { error in
            let error = error as? DeliveryError
            return error?.code == .eventTooLarge && error?.description.contains("narrow") == true
        }
        try await publisher.send(CrateSent(number: 2, filler: ""))
        await bridge.waitUntilIdle()
        #expect(handled.all == [2, 2])
        await bridge.shutdown()
    }

    @Test("C8: however many send at once while one of two workers is full, each event goes to both or to none")
    func fullAllTheTime() async throws {
        let (first, second) = (Collected<Int>(), Collected<Int>())
        let (accepted, refused) = (Collected<Int>(), Collected<Int>())
        let (open, full) = (Collected<Void>(), Collected<Void>())
        open.add(())
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                Self.gated("roomy", open, first, limits: WorkerLimits()),
                // The worker has room for a few events, and handles nothing before one has been refused.
                Self.gated(
                    "narrow",
                    full,
                    second,
                    limits: WorkerLimits(outbox: 16 << 10, overflow: [CrateSent.eventName: .fail])
                ),
            ]
        )
        let filler = String(repeating: "x", count: 2_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<8 {
                group.addTask { [publisher] in
                    var number = sender * 1_000_000
                    var places = 0
                    while places < 250 {
                        number += 1
                        do {
                            try await publisher.send(CrateSent(number: number, filler: filler))
                            accepted.add(number)
                            places += 1
                        } catch let error as DeliveryError {
                            #expect(error.code == .outboxFull)
                            refused.add(number)
                            full.add(())
                            await Task.yield()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        await bridge.waitUntilIdle()
        #expect(!refused.all.isEmpty)
        #expect(first.all.sorted() == accepted.all.sorted())
        #expect(second.all.sorted() == accepted.all.sorted())
        await bridge.shutdown()
    }

    @Test("N3: what a worker that died has left for another waits while that one is full, and nothing of it is dropped")
    func recoveredForOneThatIsFull() async throws {
        let (gate, handled) = (Collected<Void>(), Collected<Int>())
        let sessions = Collected<WorkerSession?>()
        let dropped = Collected<EventsDropped>()
        let exits = Collected<(exit: WorkerExited, depth: Int)>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                Self.gated("slow", gate, handled, limits: Self.narrow),
                InMemoryWorker("source", subscribes: [CrateAnnounced.self]) { publisher in
                    sessions.add(WorkerSession.current)
                    return [
                        publisher.subscribe(to: CrateAnnounced.self) { announced in
                            // The event comes again if its worker dies before the acknowledgement has arrived.
                            guard EventContext.current?.attempt == 1 else { return }
                            for number in 0..<announced.number {
                                publisher.publish(CrateSent(number: number, filler: ""))
                            }
                        }
                    ]
                },
            ]
        )
        let subscriptions = [
            publisher.subscribe(to: EventsDropped.self) { dropped.add($0) },
            // Reported when all events that the worker has left have been routed.
            publisher.subscribe(to: WorkerExited.self) { exits.add(($0, depth(of: "slow", in: bridge))) },
        ]
        // More than the window of the sender lets out, and far more than the outbox of the slow worker holds.
        let count = 10_000
        try await publisher.deliver(CrateAnnounced(number: count), within: .seconds(120))
        try #require(sessions.all[0]).abandon()
        await Task.yield()
        gate.add(())
        await handled.wait { $0.count == count }
        let disorder = zip(handled.all, handled.all.dropFirst()).filter { $0 + 1 != $1 }
        #expect(disorder.isEmpty && handled.all.first == 0, "\(disorder.prefix(5)) of \(handled.all.count)")
        let end = try #require(await exits.wait { !$0.isEmpty }.first)
        #expect(end.exit.outbox?.delivered ?? 0 > 0)
        // Far less than all events that were left: as many as the outbox holds, and the event that waited.
        #expect(end.depth <= 65)
        await bridge.waitUntilIdle()
        #expect(dropped.all.isEmpty)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("N8: an event larger than window and outbox passes alone; one larger than a frame is refused")
    func huge() async throws {
        let handled = Collected<Int>()
        let open = Collected<Void>()
        open.add(())
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.gated("worker", open, handled, limits: WorkerLimits())]
        )
        let tenMebibytes = String(repeating: "x", count: 10 << 20)
        for number in 0..<6 {
            try await publisher.send(CrateSent(number: number, filler: number % 2 == 0 ? "" : tenMebibytes))
        }
        await #expect {
            try await publisher.send(CrateSent(number: 7, filler: String(repeating: "x", count: (16 << 20) + 1)))
        } throws: { ($0 as? DeliveryError)?.code == .eventTooLarge }
        #expect(await handled.wait { $0.count == 6 } == Array(0..<6))
        await bridge.shutdown()
    }

    @Test("N9: what a handler publishes comes behind its cause, for two subscribers here and two workers")
    func causeFirstEverywhere() async throws {
        let seen = (0..<3).map { _ in Collected<String>() }
        let (queued, queue) = (Collected<String>(), DispatchQueue(label: "here"))
        @Sendable func watch(_ publisher: EventPublisher, _ log: Collected<String>) -> [Subscription] {
            [
                publisher.subscribe(to: CrateAnnounced.self) { log.add("announced \($0.number)") },
                publisher.subscribe(to: CrateSent.self) { log.add("sent \($0.number)") },
            ]
        }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: (0..<2).map { index in
                InMemoryWorker("worker-\(index)", subscribes: [CrateAnnounced.self, CrateSent.self]) {
                    watch($0, seen[index])
                }
            } + [
                InMemoryWorker("stowing", subscribes: [CrateAnnounced.self]) { publisher in
                    [publisher.subscribe(to: CrateAnnounced.self) { publisher.publish(CrateStowed(number: $0.number)) }]
                }
            ]
        )
        let publisher = publisher
        let subscriptions =
            [
                publisher.subscribe(to: CrateAnnounced.self) {
                    publisher.publish(CrateSent(number: $0.number, filler: ""))
                }
            ] + watch(publisher, seen[2])
            + [
                publisher.subscribe(to: CrateAnnounced.self, on: .queue(queue)) {
                    queued.add("announced \($0.number)")
                },
                publisher.subscribe(to: CrateSent.self, on: .queue(queue)) { queued.add("sent \($0.number)") },
                publisher.subscribe(to: CrateStowed.self, on: .queue(queue)) { queued.add("stowed \($0.number)") },
            ]
        for number in 0..<500 { publisher.publish(CrateAnnounced(number: number)) }
        await bridge.waitUntilIdle()
        let expected = (0..<500).flatMap { ["announced \($0)", "sent \($0)"] }
        for log in seen { #expect(log.all == expected) }
        // An event from a worker, too, comes on a queue after the event that caused it.
        let all = await queued.wait(for: 1_500)
        #expect(all.filter { !$0.hasPrefix("stowed") } == expected)
        var announced: Set<Substring> = []
        let early = all.filter { entry in
            let words = entry.split(separator: " ")
            if words[0] == "announced" { announced.insert(words[1]) }
            return words[0] == "stowed" && !announced.contains(words[1])
        }
        #expect(early.isEmpty)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    // MARK: - Workers

    /// How many small events fill the outbox of a gated worker to its limit.
    private static let crowd = 256

    /// A worker that handles no event before its gate is open.
    private static func gated(
        _ name: String,
        _ gate: Collected<Void>,
        _ handled: Collected<Int>,
        limits: WorkerLimits = WorkerLimits(outbox: crowd * 256)
    ) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [CrateSent.self], limits: limits) { publisher in
            [
                publisher.subscribe(to: CrateSent.self) { crate async in
                    await gate.wait { !$0.isEmpty }
                    handled.add(crate.number)
                }
            ]
        }
    }

    private func depth(of worker: String, in bridge: BridgeHost) -> Int {
        bridge.leftovers.first { $0.worker == worker }?.events ?? 0
    }
}

/// Runs tasks one at a time, each until it suspends.
private final class TurnExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "turns")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Returns when each task that has been started has run until it suspended.
    func untilAllSuspend() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}

private struct CrateAnnounced: DomainEvent {
    let number: Int
}

private struct CrateStowed: DomainEvent {
    let number: Int
}

private struct CrateSent: DomainEvent {
    let number: Int
    let filler: String
}

private struct CrateMeasured: DomainEvent {
    /// How often an event was encoded.
    static let encodings = Atomic<Int>(0)

    let number: Int
    let filler: String

    func encode(to encoder: any Encoder) throws {
        Self.encodings.wrappingAdd(1, ordering: .relaxed)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(number, forKey: .number)
        try container.encode(filler, forKey: .filler)
    }

    private enum CodingKeys: CodingKey {
        case number
        case filler
    }
}
