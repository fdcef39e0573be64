import CBOR
import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting
import Locks
import Synchronization
import TestSupport
import Testing

@testable import Journal

/// What happens around the moment at which a host takes up what an earlier one owed.
@Suite("A host takes up what was owed")
struct RestoringTests {
    private static let source = EventSource(origin: "earlier", incarnation: 1)

    /// A journal that an earlier host has left, with events that workers are owed, one after the other.
    private static func left(
        _ scratch: ScratchJournal,
        events: [Counted],
        owedTo workers: [String] = ["a"]
    ) async throws {
        let journal = try scratch.open(segmentBytes: 256 << 10)
        let encode = journal.core.encoder(of: Counted.self)
        for (index, event) in events.enumerated() {
            let id = EventID(source: source, number: UInt64(index) + 1)
            let payload = CBORBuffer()
            try encode(event, payload)
            journal.core.makeRoom(for: payload.count)
            _ = try journal.core.append(
                payload.copied(),
                name: Counted.eventName,
                context: EventContext(id: id, nanosecondsSinceEpoch: 1),
                owed: [OwedReceiver(name: workers[index % workers.count], isSpecified: true)],
                whenSettled: nil
            )
        }
        await journal.close()
    }

    @Test(
        "Events that are published while the host starts do not overtake what was owed",
        .timeLimit(.minutes(2))
    )
    func overtaking() async throws {
        let scratch = try ScratchJournal()
        let owed = Array(1...5_000)
        try await Self.left(scratch, events: owed.map { Counted(number: $0) })
        let publisher = EventPublisher()
        let journal = try scratch.open(segmentBytes: 256 << 10)
        try journal.record(Counted.self, of: publisher)
        let got = Collected<Int>()
        let worker = InMemoryWorker("a", subscribes: [Counted.self]) { publisher in
            [publisher.subscribe(to: Counted.self) { got.add($0.number) }]
        }
        let hasStarted = Atomic<Bool>(false)
        async let publishing: Void = onThreads(1) { _ in
            var number = 1_000_000
            // Bounded, so that the thread ends even if the host does not start.
            while !hasStarted.load(ordering: .relaxed), number < 1_200_000 {
                publisher.publish(Counted(number: number))
                number += 1
            }
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        hasStarted.store(true, ordering: .relaxed)
        await publishing
        await bridge.waitUntilIdle()
        #expect(Array(got.all.prefix(owed.count)) == owed)
        await bridge.shutdown()
        await journal.close()
    }

    @Test(
        "An owed event that is too large for its worker's new limit becomes a dead letter that says so",
        .timeLimit(.minutes(2))
    )
    func tooLarge() async throws {
        let scratch = try ScratchJournal()
        let large = Counted(number: 1, text: String(repeating: "x", count: 100_000))
        try await Self.left(scratch, events: [large, Counted(number: 2)])
        let publisher = EventPublisher()
        let journal = try scratch.open(segmentBytes: 256 << 10)
        try journal.record(Counted.self, of: publisher)
        let got = Collected<Int>()
        let worker = InMemoryWorker("a", subscribes: [Counted.self], limits: WorkerLimits(frame: 64 << 10)) {
            publisher in [publisher.subscribe(to: Counted.self) { got.add($0.number) }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        await bridge.waitUntilIdle()
        #expect(got.all == [2])
        let letters = bridge.deadLetters
        #expect(letters.map(\.worker) == ["a"] && letters.map(\.cause) == [.workerUnavailable])
        #expect(letters.first?.reasons.last?.contains("its payload has 100") == true, "\(letters)")
        await bridge.shutdown()
        await journal.close()
    }

    @Test("The dead letters of a start reach the workers that subscribe to them", .timeLimit(.minutes(2)))
    func letters() async throws {
        let scratch = try ScratchJournal()
        try await Self.left(scratch, events: [Counted(number: 1), Counted(number: 2)], owedTo: ["gone"])
        let publisher = EventPublisher()
        let journal = try scratch.open(segmentBytes: 256 << 10)
        try journal.record(Counted.self, of: publisher)
        let got = Collected<Int>()
        let worker = InMemoryWorker("reader", subscribes: [EventDeadLettered.self]) { publisher in
            [publisher.subscribe(to: EventDeadLettered.self) { got.add(Int($0.letter)) }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        await got.wait { $0.count == 2 }
        #expect(got.all == [1, 2] && bridge.deadLetters.map(\.id) == [1, 2])
        await bridge.shutdown()
        await journal.close()
    }

    @Test("A start that fails delivers nothing, and so counts as no attempt", .timeLimit(.minutes(2)))
    func failedStart() async throws {
        let scratch = try ScratchJournal()
        try await Self.left(scratch, events: [Counted(number: 1), Counted(number: 2)], owedTo: ["a", "gone"])
        let home = try ScratchJournal()
        let control = ControlSocket(home.path + "/s")
        let other = try BridgeHost(publisher: EventPublisher(), workers: [], control: control)
        try await other.start()
        let got = Collected<Int>()
        for isFree in [false, true] {
            let publisher = EventPublisher()
            let journal = try scratch.open(segmentBytes: 256 << 10)
            try journal.record(Counted.self, of: publisher)
            let worker = InMemoryWorker("a", subscribes: [Counted.self]) { publisher in
                [publisher.subscribe(to: Counted.self) { _ in got.add(EventContext.current?.attempt ?? 0) }]
            }
            let bridge = try BridgeHost(
                publisher: publisher,
                workers: [worker.specification],
                launcher: InMemoryLauncher([worker]),
                control: control
            )
            await #expect(throws: BridgeError.self) { try await bridge.start() }
            #expect(bridge.deadLetters.isEmpty && got.all.isEmpty)
            if isFree {
                // What was taken up at the first try is still there at the second.
                await other.shutdown()
                try await bridge.start()
                await bridge.waitUntilIdle()
                #expect(bridge.deadLetters.map(\.attempts) == [1])
            }
            await bridge.shutdown()
            await journal.close()
        }
        #expect(got.all == [2])
    }

    @Test(
        "A journal that is opened again notes what is owed, even if the closed one is still referred to",
        .timeLimit(.minutes(2))
    )
    func openedAgain() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let held = Collected<UnsettledDelivery<Counted>>()
        let worker = InMemoryWorker("a", subscribes: [Counted.self]) { publisher in
            [publisher.subscribe(to: Counted.self, on: .queue(.global()), acknowledging: .manually) { held.add($0) }]
        }
        let first = try scratch.open()
        try first.record(Counted.self, of: publisher)
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        await first.close()
        let reader = first.records(after: 0)

        let second = try scratch.open()
        try second.record(Counted.self, of: publisher)
        publisher.publish(Counted(number: 1))
        await held.wait(for: 1)
        // Ends the host as a kill does.
        bridge.abandon()
        await second.close()
        withExtendedLifetime(reader) {}

        let third = try scratch.open()
        let owed = third.core.takeOwed()
        #expect(owed.map(\.receiver.name) == ["a"] && owed.map(\.name) == [Counted.eventName], "\(owed)")
        await third.close()
    }

    @Test(
        "A journal in the place of the first one notes what is owed, of types that it has recorded before, too",
        .timeLimit(.minutes(2))
    )
    func secondJournal() async throws {
        let (scratch, elsewhere) = (try ScratchJournal(), try ScratchJournal())
        let publisher = EventPublisher()
        let held = Collected<UnsettledDelivery<Counted>>()
        let worker = InMemoryWorker("a", subscribes: [Counted.self]) { publisher in
            [publisher.subscribe(to: Counted.self, on: .queue(.global()), acknowledging: .manually) { held.add($0) }]
        }
        let (first, second) = (try elsewhere.open(), try scratch.open())
        try first.record(Counted.self, of: publisher)
        try second.record(Counted.self, of: publisher)
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        publisher.publish(Counted(number: 1))
        await first.close()
        try second.record(Colored.self, of: publisher)
        publisher.publish(Counted(number: 2))
        await held.wait(for: 2)
        bridge.abandon()
        #expect(second.status.lastPosition == 2)
        await second.close()

        let third = try scratch.open()
        #expect(third.core.takeOwed().map(\.context.id) == held.all.filter { $0.event.number == 2 }.map(\.context.id))
        await third.close()
    }
}
