import BridgeProtocol
import DomainEvents
import EventBridge
import EventBridgeTesting
import TestSupport
import Testing

/// The position of a needle, of which only the latest matters.
private struct NeedleMoved: DomainEvent {
    let gauge: Int
    let position: Int
    var filler = ""
}

private struct GaugeRead: DomainEvent {
    let position: Int
}

/// Takes one event, then nothing before its gate is open, and notes the events that come and the gaps.
private func watch(_ publisher: EventPublisher, _ gate: Collected<Void>, _ seen: Collected<String>) {
    let items = publisher.eventsAndGaps(of: NeedleMoved.self)
    Task {
        for await item in items {
            if !seen.all.isEmpty { await gate.wait { !$0.isEmpty } }
            switch item {
            case .event(let event): seen.add("\(event.position)")
            case .gap(let gap): seen.add("\(gap.count) missing, \(gap.droppedOnTheWay) on the way")
            }
        }
    }
}

@Suite("C3: overflow policies", .serialized, .timeLimit(.minutes(5)))
struct OverflowTests {
    private let publisher = EventPublisher()
    private let gate = Collected<Void>()
    private let seen = Collected<String>()

    /// The events are large, because only the window limits how many are in flight before a small outbox.
    private static let filler = String(repeating: "x", count: 8_000)

    private func bridge(_ overflow: [String: OverflowPolicy]) async throws -> BridgeHost {
        let (gate, seen) = (gate, seen)
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker(
                    "watcher",
                    subscribes: [NeedleMoved.self],
                    limits: WorkerLimits(outbox: 2 << 20, overflow: overflow)
                ) { publisher in
                    watch(publisher, gate, seen)
                    return []
                }
            ]
        )
        // While no consumer iterates yet, an event is handled when it arrives.
        publish(0..<1)
        await seen.wait { $0.count == 1 }
        // The event's room is free before others fill the outbox, and not at some moment among them.
        await bridge.waitUntilIdle()
        return bridge
    }

    private func publish(_ positions: Range<Int>, gauges: Int = 1) {
        for position in positions {
            publisher.publish(NeedleMoved(gauge: position % gauges, position: position, filler: Self.filler))
        }
    }

    private func counts(_ bridge: BridgeHost) throws -> EventCounts {
        let counts = try #require(bridge.statistics.first).sent
        #expect(counts.isBalanced, "\(counts)")
        return counts
    }

    private static func gap(_ item: String) -> Int { item.split(separator: " ").first.flatMap { Int($0) } ?? 0 }

    /// How many of the published events, counted from 0, the consumer has missed: each gap stands where they would have
    /// been.
    private func missingInPlace(of count: Int) async -> Int {
        // A gap counts for as many events as it says.
        await seen.wait { $0.reduce(0) { $0 + (Int($1) == nil ? Self.gap($1) : 1) } >= count }
        var next = 0
        var missing = 0
        for item in seen.all {
            if let position = Int(item) {
                #expect(position == next, "\(item) came where \(next) was expected")
                next = position + 1
            } else {
                let gap = Self.gap(item)
                #expect(item == "\(gap) missing, \(gap) on the way")
                missing += gap
                next += gap
            }
        }
        #expect(next == count)
        return missing
    }

    @Test("the oldest give way, the consumer finds a gap in their place, and they are announced")
    func dropOldest() async throws {
        let announced = Collected<EventsDropped>()
        let reports = publisher.subscribe(to: EventsDropped.self) { announced.add($0) }
        let bridge = try await bridge([NeedleMoved.eventName: .dropOldest])
        publish(1..<1_000)
        // Handled frames that are kept for the sake of others count, too: here only gaps, at most two for an event.
        let waiting = try counts(bridge)
        #expect(waiting.waitingBytes <= 2 << 20 + (2 * Int(waiting.waiting) + 1) * LinkLimits.minimumCharge)
        gate.add(())
        await bridge.waitUntilIdle()
        let counts = try counts(bridge)
        #expect(counts.waiting == 0)
        #expect(counts.dropped > 0 && counts.dropped + counts.handled == 1_000)
        let missing = await missingInPlace(of: 1_000)
        #expect(missing == Int(counts.dropped))
        await bridge.shutdown()
        let losses = announced.all.filter { $0.event == NeedleMoved.eventName }
        #expect(losses.reduce(0) { $0 + $1.count } == Int(counts.dropped))
        #expect(losses.allSatisfy { $0.link == "watcher" && $0.first.hasPrefix("host-") && $0.last.hasPrefix("host-") })
        reports.cancel()
    }

    @Test("the newest give way, and who waits to hear of one of them is told")
    func dropNewest() async throws {
        let bridge = try await bridge(["*": .dropNewest])
        publish(1..<1_000)
        await #expect {
            try await publisher.deliver(
                NeedleMoved(gauge: 0, position: 1_000, filler: Self.filler),
                within: .seconds(240)
            )
        } throws: { ($0 as? DeliveryError)?.code == .outboxFull }
        // No publisher waits for room where events are dropped instead.
        try await publisher.send(NeedleMoved(gauge: 0, position: 1_001, filler: Self.filler))
        gate.add(())
        await bridge.waitUntilIdle()
        let counts = try counts(bridge)
        #expect(counts.dropped > 2 && counts.dropped + counts.handled == 1_002)
        let missing = await missingInPlace(of: 1_002)
        #expect(missing == Int(counts.dropped))
        await bridge.shutdown()
    }

    @Test("the latest of each key arrives, without gaps and without a word")
    func latest() async throws {
        let announced = Collected<EventsDropped>()
        let reports = publisher.subscribe(to: EventsDropped.self) { announced.add($0) }
        let bridge = try await bridge([NeedleMoved.eventName: .latest(by: "gauge")])
        publish(1..<1_000, gauges: 5)
        gate.add(())
        await bridge.waitUntilIdle()
        let counts = try counts(bridge)
        #expect(counts.dropped == 0 && counts.coalesced > 0 && counts.coalesced + counts.handled == 1_000)
        await seen.wait { $0.last == "999" }
        #expect(seen.all.suffix(5) == (995..<1_000).map(String.init)[...])
        #expect(seen.all == seen.all.compactMap(Int.init).sorted().map(String.init))
        await bridge.shutdown()
        #expect(announced.all.isEmpty)
        reports.cancel()
    }

    @Test("send fails at once where it is to fail, and where it waits it goes on when there is room")
    func failing() async throws {
        let bridge = try await bridge([NeedleMoved.eventName: .fail])
        var accepted = 1
        do {
            while accepted < 100_000 {
                try await publisher.send(NeedleMoved(gauge: 0, position: accepted, filler: Self.filler))
                accepted += 1
            }
            Issue.record("nothing was refused")
        } catch let error as DeliveryError {
            #expect(error.code == .outboxFull)
            #expect(error.description.contains("watcher") && error.description.contains("\(2 << 20)"))
        }
        gate.add(())
        await bridge.waitUntilIdle()
        await seen.wait { [accepted] in $0.count == accepted }
        #expect(seen.all == (0..<accepted).map(String.init))
        try await publisher.send(NeedleMoved(gauge: 0, position: accepted))
        await bridge.waitUntilIdle()
        #expect(try counts(bridge).handled == UInt64(accepted) + 1)
        await bridge.shutdown()
    }

    @Test("a worker that waits to hear of an event is told that another worker's outbox has no room for it")
    func failingBetweenWorkers() async throws {
        let (gate, seen, failures) = (gate, seen, Collected<any Error>())
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("source", subscribes: [GaugeRead.self]) { publisher in
                    [
                        publisher.subscribe(to: GaugeRead.self) { read in
                            Task {
                                do {
                                    try await publisher.deliver(
                                        NeedleMoved(gauge: 0, position: read.position, filler: Self.filler),
                                        within: .seconds(240)
                                    )
                                } catch { failures.add(error) }
                            }
                        }
                    ]
                },
                InMemoryWorker(
                    "watcher",
                    subscribes: [NeedleMoved.self],
                    limits: WorkerLimits(outbox: 2 << 20, overflow: ["*": .fail])
                ) { publisher in
                    watch(publisher, gate, seen)
                    return []
                },
            ]
        )
        publish(0..<1)
        await seen.wait { $0.count == 1 }
        await bridge.waitUntilIdle()
        await #expect(throws: DeliveryError.self) {
            for position in 1..<100_000 {
                try await publisher.send(NeedleMoved(gauge: 0, position: position, filler: Self.filler))
            }
        }
        publisher.publish(GaugeRead(position: 100_000))
        await failures.wait { $0.count == 1 }
        let failure = try #require(failures.all.first as? DeliveryError)
        #expect(failure.code == .outboxFull && failure.worker == "watcher")
        #expect(
            failure.description
                == "NeedleMoved was not taken: the outbox to watcher is at its limit of \(2 << 20) bytes"
        )
        gate.add(())
        await bridge.waitUntilIdle()
        await bridge.shutdown()
    }

    @Test(
        "C4: an observer that stands still slows no other worker: what is dropped for it is told in its place",
        arguments: [OverflowPolicy.dropOldest, .wait]
    )
    func betweenWorkers(policy: OverflowPolicy) async throws {
        let (gate, seen, asked) = (gate, seen, Collected<Int>())
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("source", subscribes: [GaugeRead.self]) { publisher in
                    [
                        publisher.subscribe(to: GaugeRead.self) { read in
                            asked.add(read.position)
                            publisher.publish(NeedleMoved(gauge: 0, position: read.position, filler: Self.filler))
                        }
                    ]
                },
                InMemoryWorker(
                    "watcher",
                    subscribes: [NeedleMoved.self],
                    limits: WorkerLimits(outbox: 1 << 20, overflow: ["*": policy])
                ) { publisher in
                    watch(publisher, gate, seen)
                    return []
                },
            ]
        )
        publisher.publish(GaugeRead(position: 0))
        await seen.wait { $0.count == 1 }
        for position in 1..<2_000 { publisher.publish(GaugeRead(position: position)) }
        if policy == .dropOldest {
            // All questions are handled while the watcher stands still.
            await asked.wait { $0.count == 2_000 }
            while bridge.statistics[0].received.waiting > 0 { await Task.yield() }
        }
        gate.add(())
        await bridge.waitUntilIdle()
        let counts = bridge.statistics[1].sent
        #expect(counts.isBalanced, "\(counts)")
        #expect(counts.handled + counts.dropped == 2_000)
        #expect((counts.dropped > 0) == (policy == .dropOldest))
        let missing = await missingInPlace(of: 2_000)
        #expect(missing == Int(counts.dropped))
        await bridge.shutdown()
    }
}
