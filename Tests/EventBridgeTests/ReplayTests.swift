import BridgeClient
import BridgeControl
import DomainEvents
import EventBridge
import EventBridgeTesting
import TestSupport
import Testing

private struct ParcelSorted: DomainEvent {
    let number: Int
}

private struct Unwilling: Error, CustomStringConvertible {
    let description = "not today"
}

@Suite("Events that are replayed to a worker", .serialized, .timeLimit(.minutes(5)))
struct EventReplayTests {
    /// An event as a worker's handler has got it.
    private struct Seen: Sendable, Hashable {
        let number: Int
        let id: String
        let attempt: Int
        let isReplay: Bool
    }

    private let seen = Collected<Seen>()
    private let others = Collected<Int>()

    /// A worker that refuses event 13, and another that gets the same events live.
    private func workers(_ overflow: OverflowPolicy = .wait) -> [InMemoryWorker] {
        [
            InMemoryWorker("sorter", limits: WorkerLimits(overflow: ["*": overflow])) { [seen] publisher in
                [
                    publisher.subscribe(to: ParcelSorted.self) { parcel in
                        guard let context = EventContext.current else { return }
                        if parcel.number == 13 { throw Unwilling() }
                        seen.add(
                            Seen(
                                number: parcel.number,
                                id: context.id.description,
                                attempt: context.attempt,
                                isReplay: context.isReplay
                            )
                        )
                    }
                ]
            },
            InMemoryWorker("other", subscribes: [ParcelSorted.self]) { [others] publisher in
                [publisher.subscribe(to: ParcelSorted.self) { others.add($0.number) }]
            },
        ]
    }

    private func with(
        _ workers: [InMemoryWorker],
        _ body: (AttachHome, BridgeHost, BridgeClient) async throws -> Void
    ) async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: workers)
        let client = try await home.attach(EventPublisher())
        try await body(home, bridge, client)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    /// - Parameter fill: how many bytes another field of the payload has, from 256 to 65,535; 0 for no such field.
    private func events(
        _ numbers: ClosedRange<Int>,
        named name: String = "ParcelSorted",
        fill: Int = 0
    ) -> [ReplayedEvent] {
        let filler = [0x61, 0x66, 0x79, UInt8(fill >> 8), UInt8(fill & 0xFF)] + Array(repeating: 0x20, count: fill)
        return numbers.map {
            // The payload is {"number": n}, with n below 24, and perhaps {"f": ...}.
            ReplayedEvent(
                event: name,
                id: "host-5f-\($0)",
                nanosecondsSinceEpoch: UInt64($0),
                cause: "host-5f-1",
                payload: [fill == 0 ? 0xA1 : 0xA2, 0x66] + Array("number".utf8) + [UInt8($0)]
                    + (fill == 0 ? [] : filler)
            )
        }
    }

    @Test(
        "reach this worker alone, marked, with their identity and in order, and each outcome is told",
        arguments: [OverflowPolicy.wait, .dropOldest, .dropNewest]
    )
    func replayed(overflow: OverflowPolicy) async throws {
        try await with(workers(overflow)) { home, bridge, client in
            home.publisher.publish(ParcelSorted(number: 0))
            let outcome = try await client.replay(events(1...20), to: "sorter")
            #expect(outcome.kind == .done && outcome.results.count == 20)
            #expect(outcome.results.filter { $0.kind == .handled }.count == 19)
            #expect(outcome.results[12].kind == .refused)
            #expect(outcome.results[12].reason?.contains("not today") == true)
            // The operator was told, so it is no dead letter.
            #expect(bridge.deadLetters.isEmpty)
            let got = seen.all
            #expect(got.first?.isReplay == false && got.first?.attempt == 1)
            #expect(
                got.dropFirst()
                    == (1...20).filter { $0 != 13 }.map {
                        Seen(number: $0, id: "host-5f-\($0)", attempt: 2, isReplay: true)
                    }[...]
            )
            await bridge.waitUntilIdle()
            #expect(others.all == [0])
        }
    }

    @Test("that the worker does not want are left out, and a command that is wrong is refused")
    func leftOut() async throws {
        try await with(workers()) { _, _, client in
            let unwanted = try await client.replay(events(1...2, named: "ParcelLost"), to: "sorter")
            #expect(unwanted == ReplayOutcome(.done, results: [.init(.unwanted), .init(.unwanted)]))
            let commands = try await client.replay(events(1...1, named: "BridgeStopRequested"), to: "sorter")
            #expect(commands.results == [.init(.unwanted)])
            for (events, worker, part) in [
                (events(1...1), "none", "there is no worker"),
                (events(1...1, named: "*"), "sorter", "is no name of an event"),
                ([ReplayedEvent(event: "A", id: "x", nanosecondsSinceEpoch: 0, payload: [0])], "sorter", "no identity"),
                (
                    [ReplayedEvent(event: "A", id: "host-5f-1", nanosecondsSinceEpoch: 0, payload: [])], "sorter",
                    "no content"
                ),
                (
                    Array(repeating: events(1...1)[0], count: EventsReplayRequested.mostEvents + 1), "sorter",
                    "expected at most 64 events"
                ),
                (events(1...2) + events(1...1), "sorter", "ParcelSorted host-5f-1 is in the command twice"),
            ] {
                let outcome = try await client.replay(events, to: worker)
                #expect(outcome.kind == .refused && outcome.results.isEmpty)
                #expect(outcome.refusal?.contains(part) == true, "\(outcome)")
            }
            #expect(seen.all.isEmpty)
        }
    }

    @Test("go one command at a time to a worker, and a stopped worker gets nothing")
    func stopped() async throws {
        let begun = Collected<Int>()
        let gate = Collected<Int>()
        let slow = InMemoryWorker("slow", subscribes: [ParcelSorted.self], shutdown: .draining(grace: .seconds(200))) {
            publisher in
            [
                publisher.subscribe(to: ParcelSorted.self) { parcel async in
                    begun.add(parcel.number)
                    await gate.wait(for: 1)
                }
            ]
        }
        try await with([slow]) { _, bridge, client in
            async let replay = client.replay(events(1...3), to: "slow")
            await begun.wait(for: 1)
            #expect(try await client.replay(events(4...4), to: "slow") == ReplayOutcome(.busy))
            gate.add(1)
            #expect(try await replay.results.allSatisfy { $0.kind == .handled })
            try await client.stop("slow")
            let after = try await client.replay(events(5...5), to: "slow")
            #expect(after.kind == .refused && after.refusal?.contains("takes no events") == true, "\(after)")
            #expect(begun.all == [1, 2, 3])
        }
    }

    @Test("of one client's replay are all settled before another client's come, unless it goes away or is refused")
    func oneReplayAtATime() async throws {
        try await with(workers()) { home, _, client in
            let other = try await home.attach(EventPublisher())
            #expect(try await client.replay(events(1...2), to: "sorter", hasMore: true).kind == .done)
            #expect(try await other.replay(events(5...5), to: "sorter") == ReplayOutcome(.busy))
            #expect(try await client.replay(events(3...4), to: "sorter").kind == .done)
            #expect(try await other.replay(events(5...5), to: "sorter", hasMore: true).kind == .done)
            #expect(try await client.replay(events(6...6), to: "sorter") == ReplayOutcome(.busy))
            // A command that is refused ends the replay of its client, and of no other one.
            let wrong = events(1...1, named: "*")
            #expect(try await client.replay(wrong, to: "sorter").kind == .refused)
            #expect(try await client.replay(events(6...6), to: "sorter") == ReplayOutcome(.busy))
            #expect(try await other.replay(wrong, to: "sorter").kind == .refused)
            #expect(try await client.replay(events(6...6), to: "sorter").kind == .done)
            #expect(try await other.replay(events(7...7), to: "sorter", hasMore: true).kind == .done)
            #expect(try await client.replay(events(8...8), to: "sorter") == ReplayOutcome(.busy))
            await other.close()
            await home.detached.wait(for: 1)
            #expect(try await client.replay(events(8...8), to: "sorter").kind == .done)
            #expect(seen.all.map(\.number) == Array(1...8))
        }
    }

    /// A worker whose handler waits for the gate, and then refuses event 13.
    private func gated(
        _ begun: Collected<Int>,
        _ gate: Collected<Int>,
        shutdown: ShutdownSequence = .draining(grace: .seconds(200)),
        limits: WorkerLimits = WorkerLimits()
    ) -> InMemoryWorker {
        InMemoryWorker("slow", subscribes: [ParcelSorted.self], shutdown: shutdown, limits: limits) { publisher in
            [
                publisher.subscribe(to: ParcelSorted.self) { parcel async throws in
                    begun.add(parcel.number)
                    await gate.wait(for: 1)
                    if parcel.number == 13 { throw Unwilling() }
                }
            ]
        }
    }

    @Test("are told as unavailable if the worker is stopped before it has settled them")
    func unavailable() async throws {
        let (begun, gate) = (Collected<Int>(), Collected<Int>())
        let hasty = ShutdownSequence.draining(grace: .milliseconds(10), terminate: .milliseconds(10))
        try await with([gated(begun, gate, shutdown: hasty)]) { _, _, client in
            async let replay = client.replay(events(1...3), to: "slow")
            await begun.wait(for: 1)
            try await client.stop("slow")
            let outcome = try await replay
            #expect(outcome.results.map(\.kind) == [.unavailable, .unavailable, .unavailable], "\(outcome)")
            #expect(outcome.results.first?.reason?.contains("it was stopped") == true)
            gate.add(1)
        }
    }

    @Test("wait for room in an outbox that they fill")
    func roomIsScarce() async throws {
        let (begun, gate) = (Collected<Int>(), Collected<Int>())
        let limits = WorkerLimits(outbox: 64 << 10, outboxHardLimit: 128 << 10)
        try await with([gated(begun, gate, limits: limits)]) { _, _, client in
            async let replay = client.replay(events(1...6, fill: 40 << 10), to: "slow")
            await begun.wait(for: 1)
            gate.add(1)
            let outcome = try await replay
            #expect(outcome.results.map(\.kind) == Array(repeating: .handled, count: 6))
            #expect(begun.all == Array(1...6))
        }
    }

    @Test("become dead letters if the worker refuses them when the client has gone")
    func refusedTooLate() async throws {
        let (begun, gate) = (Collected<Int>(), Collected<Int>())
        try await with([gated(begun, gate)]) { home, bridge, client in
            let refused = Collected<EventRefused>()
            let letters = Collected<EventDeadLettered>()
            let subscriptions = [
                home.publisher.subscribe(to: EventRefused.self) { refused.add($0) },
                home.publisher.subscribe(to: EventDeadLettered.self) { letters.add($0) },
            ]
            let replay = Task { try await client.replay(events(13...13), to: "slow") }
            await begun.wait(for: 1)
            await client.close()
            await home.detached.wait(for: 1)
            gate.add(1)
            #expect(await refused.wait(for: 1).map(\.id) == ["host-5f-13"])
            #expect(await letters.wait(for: 1).map(\.id) == ["host-5f-13"])
            #expect(bridge.deadLetters.count == 1)
            _ = try? await replay.value
            withExtendedLifetime(subscriptions) {}
        }
    }
}
