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
