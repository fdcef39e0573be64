import DomainEvents
import EventBridge
import EventBridgeTesting
import Locks
import Testing

@testable import Journal

@Suite("A journal of a host's publisher")
struct HostTests {
    private final class Seen: @unchecked Sendable {
        // Sendable: everything mutable is guarded by `lock`.
        private let lock = Lock()
        private var positions: [UInt64] = []
        var all: [UInt64] { lock.withLock { positions } }
        func note(_ position: UInt64) { lock.withLock { positions.append(position) } }
    }

    @Test(
        "A worker's events are recorded before another worker gets them, with identity and cause",
        .timeLimit(.minutes(2))
    )
    func workersEvents() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Colored.self, of: publisher)
        let seen = Seen()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("painter", subscribes: [Counted.self]) { publisher in
                    [publisher.subscribe(to: Counted.self) { publisher.publish(Colored(color: "\($0.number)")) }]
                },
                InMemoryWorker("viewer", subscribes: [Colored.self]) { publisher in
                    [publisher.subscribe(to: Colored.self) { _ in seen.note(journal.status.lastPosition) }]
                },
            ]
        )
        var causes: [EventID] = []
        for number in 1...50 {
            causes.append(try await publisher.deliver(Counted(number: number), within: .seconds(60)).id)
        }
        await bridge.waitUntilIdle()
        #expect(seen.all.count == 50)
        // When the viewer has its nth event, the journal has at least n.
        #expect(zip(seen.all, 1...50).allSatisfy { $0 >= UInt64($1) })
        var records: [JournalEntry<Colored>] = []
        for try await case .event(let entry) in journal.events(of: Colored.self, after: 0, follows: false) {
            records.append(entry)
        }
        #expect(records.map(\.event.color) == (1...50).map { "\($0)" })
        #expect(records.allSatisfy { $0.context.id.origin == "painter" })
        #expect(records.map(\.context.cause) == causes)
        await bridge.shutdown()
        await journal.close()
    }

    @Test(
        "A worker's flood is recorded in the bytes in which it came, each event before its handler is called",
        .timeLimit(.minutes(2))
    )
    func flood() async throws {
        let scratch = try ScratchJournal()
        // The flood fills many segments of this size.
        let journal = try scratch.open(segmentBytes: 64 << 10)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        let seen = Seen()
        let subscription = publisher.subscribe(to: Counted.self) { event in
            // The event's number, if the journal has it already; otherwise none of the numbers.
            seen.note(journal.status.lastPosition >= UInt64(event.number) ? UInt64(event.number) : 0)
        }
        // A later version of the worker has a field that this program does not know.
        let payloads = (1...5_000).map { number -> [UInt8] in
            [0xA3, 0x66] + Array("number".utf8) + [0x19, UInt8(number >> 8), UInt8(number & 0xFF)]
                + [0x64] + Array("text".utf8) + [0x60] + [0x65] + Array("color".utf8) + [0x63] + Array("red".utf8)
        }
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            let task = Task {
                for payload in payloads {
                    try await publisher.send(UntypedEvent(name: Counted.eventName, payload: payload))
                }
            }
            withExtendedLifetime(task) {}
            return []
        }
        while seen.all.count < payloads.count { await Task.yield() }
        await bridge.waitUntilIdle()
        #expect(seen.all == (1...5_000).map { UInt64($0) })
        #expect(try scratch.segments.count > 4)
        var recorded: [[UInt8]] = []
        for try await case .event(let record) in journal.records(after: 0, follows: false) {
            recorded.append(record.payload)
        }
        #expect(recorded == payloads)
        subscription.cancel()
        await bridge.shutdown()
        await journal.close()
    }

    @Test(
        "Handlers get a worker's events also while the journal has no room, and no event is recorded twice",
        .timeLimit(.minutes(2))
    )
    func floodWithoutRoom() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        var settings = JournalCore.Settings()
        settings.segmentBytes = 64 << 10
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        let seen = Seen()
        let subscription = publisher.subscribe(to: Counted.self) { event in
            seen.note(UInt64(event.number))
            // From here on there is no room for further segments, until most of the flood has come.
            if event.number == 1_000 { storage.setFull(true) }
            if event.number == 4_000 { storage.setFull(false) }
        }
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            let task = Task {
                for number in 1...5_000 { try await publisher.send(Counted(number: number)) }
            }
            withExtendedLifetime(task) {}
            return []
        }
        while seen.all.count < 5_000 { await Task.yield() }
        await bridge.waitUntilIdle()
        #expect(seen.all == (1...5_000).map { UInt64($0) })
        // The journal tries again to make a segment when it is asked for one, but not for each event.
        let last = journal.status.lastPosition
        while journal.status.lastPosition == last {
            publisher.publish(Counted(number: 5_001))
            await Task.yield()
        }
        let found = try await journal.numbers().found.filter { $0 <= 5_000 }
        #expect(found.starts(with: 1...1_000) && found.count < 5_000)
        #expect(zip(found, found.dropFirst()).allSatisfy { $0 < $1 })
        #expect(try await journal.numbers().found.last == 5_001)
        subscription.cancel()
        await bridge.shutdown()
        await journal.close()
    }

    @Test("A worker is told that its event was handled behind the synchronization", .timeLimit(.minutes(2)))
    func acknowledgedBehindSynchronization() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        var settings = JournalCore.Settings()
        settings.durability = .machine(within: .seconds(3_600))
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        let publisher = EventPublisher()
        try journal.record(Colored.self, of: publisher)
        let delivered = DoneFlag()
        let safe = Seen()
        let baton = Baton()
        storage.holdSynchronization(by: baton)
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            let task = Task {
                _ = try await publisher.deliver(Colored(color: "red"), within: .seconds(60))
                safe.note(journal.status.safePosition)
                delivered.set()
            }
            withExtendedLifetime(task) {}
            return []
        }
        while journal.status.lastPosition == 0 { await Task.yield() }
        #expect(safe.all.isEmpty)
        baton.handOver()
        await delivered.wait()
        #expect(safe.all == [1])
        await bridge.shutdown()
        await journal.close()
    }
}
