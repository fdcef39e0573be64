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

    private func events(_ numbers: ClosedRange<Int>, named name: String = "ParcelSorted") -> [ReplayedEvent] {
        numbers.map {
            // The payload is {"number": n}, with n below 24.
            ReplayedEvent(
                event: name,
                id: "host-5f-\($0)",
                nanosecondsSinceEpoch: UInt64($0),
                cause: "host-5f-1",
                payload: [0xA1, 0x66] + Array("number".utf8) + [UInt8($0)]
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
            ] {
                let outcome = try await client.replay(events, to: worker)
                #expect(outcome.kind == .refused && outcome.results.isEmpty)
                #expect(outcome.refusal?.contains(part) == true, "\(outcome)")
            }
            #expect(seen.all.isEmpty)
        }
    }

    @Test("end with the worker: what is not settled is told as unavailable, and a stopped worker gets nothing")
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
}
