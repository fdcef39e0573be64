import BridgePlatform
import DomainEvents
import JournalFormat
import Locks
import Testing

@testable import Journal

@Suite("A journal in trouble")
struct FaultTests {
    static func journal(
        on storage: FaultyStorage,
        _ durability: JournalDurability = .process,
        whenFull: JournalFullPolicy = .refuse
    ) throws -> (EventJournal, EventPublisher) {
        var settings = JournalCore.Settings()
        settings.durability = durability
        settings.whenFull = whenFull
        settings.segmentBytes = 64 << 10
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        return (journal, publisher)
    }

    static let text = String(repeating: "x", count: 1_000)

    // MARK: - The owner

    @Test("J11: a directory belongs to one journal at a time", .timeLimit(.minutes(1)))
    func twoJournals() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        #expect { _ = try scratch.open() } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .inUse && error.description.contains("process ")
        }
        await journal.close()
        await (try scratch.open()).close()
    }

    @Test(
        "A directory that others may enter is refused, and one that is made is of this user alone",
        .timeLimit(.minutes(1))
    )
    func permissions() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        // Before that, a file may be renamed while the names are listed.
        await journal.waitForSpare()
        #expect(try scratch.files.status().permissions == 0o700)
        for name in try scratch.files.names() {
            #expect(try scratch.files.open(name).status().permissions == 0o600, "\(name)")
        }
        await journal.close()
        try scratch.setPermissions(0o750)
        #expect { _ = try scratch.open() } throws: { ($0 as? JournalError)?.code == .unsuitableDirectory }
    }

    @Test("J11: file systems of other machines are told from those of this one")
    func fileSystems() {
        let remotes: [UInt64] = [
            0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997, 0x00C3_6400, 0x6573_5546, 0x1983_0326, 0xBACB_ACBC,
        ]
        for remote in remotes {
            #expect(StorageDirectory.FileSystem(ofType: remote) == .remote)
        }
        #expect(StorageDirectory.FileSystem(ofType: 0xEF53) == .inPlace)
        #expect(StorageDirectory.FileSystem(ofType: 0x0102_1994) == .inPlace)
        // btrfs, xfs, overlayfs: these may need room to overwrite existing data.
        for local: UInt64 in [0x9123_683E, 0x5846_5342, 0x794C_7630] {
            #expect(StorageDirectory.FileSystem(ofType: local) == .local)
        }
    }

    @Test("J18: a journal of a later version is refused by name, and nothing in it is changed")
    func laterVersion() async throws {
        let scratch = try ScratchJournal()
        await (try scratch.open()).close()
        let name = SegmentCatalog.fileName(of: 1)
        var head = Array(try scratch.bytes(of: name)[..<80])
        head[8] = 4
        let checksum = head[..<76].withUnsafeBytes { Checksum.crc32c($0) }
        withUnsafeBytes(of: checksum.littleEndian) { head.replaceSubrange(76..., with: $0) }
        try scratch.overwrite(name, at: 0, with: head)
        let before = try scratch.bytes(of: name)
        #expect { _ = try scratch.open() } throws: { error in
            "\(error)".contains(name) && "\(error)".contains("version 4")
        }
        #expect(try scratch.bytes(of: name) == before)
    }

    // MARK: - No room

    @Test(
        "J6: without room for another segment events are refused, and taken again once there is",
        .timeLimit(.minutes(2))
    )
    func full() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try Self.journal(on: storage)
        storage.setFull(true)
        var taken = 0
        do {
            while taken < 10_000 {
                try await publisher.deliver(Counted(number: taken, text: Self.text), within: .seconds(60))
                taken += 1
            }
        } catch {
            #expect((error as? JournalError)?.code == .full)
        }
        // The events of the present segment, and perhaps of one that was made ahead.
        #expect((50...130).contains(taken))
        storage.setFull(false)
        // The journal does not try again for each event.
        while (try? await publisher.deliver(Counted(number: taken), within: .seconds(60))) == nil { await Task.yield() }
        #expect(try await journal.numbers().found == Array(0...taken))
        await journal.close()
    }

    @Test("J6: a journal that may forget its oldest events goes on without room", .timeLimit(.minutes(2)))
    func fullAndForgetting() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try Self.journal(on: storage, whenFull: .removeOldest)
        for number in 0..<400 {
            try await publisher.deliver(Counted(number: number, text: Self.text), within: .seconds(60))
        }
        storage.failNextFills(1)
        for number in 400..<600 {
            try await publisher.deliver(Counted(number: number, text: Self.text), within: .seconds(60))
        }
        let (found, missing) = try await journal.numbers()
        #expect(missing > 0)
        #expect(UInt64(found.count) + missing == 600)
        #expect(found.last == 599)
        await journal.close()
    }

    @Test("J6: a segment that cannot be removed is kept, and so are the next ones", .timeLimit(.minutes(2)))
    func removalFails() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try Self.journal(on: storage, whenFull: .removeOldest)
        for number in 0..<200 {
            try await publisher.deliver(Counted(number: number, text: Self.text), within: .seconds(60))
        }
        await journal.waitForSpare()
        storage.failRemovals(of: SegmentCatalog.fileName(of: 1))
        // Until an event was refused: the journal may look for room again before an event needs it.
        storage.setFull(true)
        var refused = 0
        for number in 200..<400 {
            let event = Counted(number: number, text: Self.text)
            while (try? await publisher.deliver(event, within: .seconds(60))) == nil {
                refused += 1
                storage.setFull(false)
                await Task.yield()
            }
        }
        #expect(refused > 0)
        #expect(try await journal.numbers() == (Array(0..<400), 0))
        await journal.close()
    }

    @Test("J6: opening closes the last segment without room, and everything can be read", .timeLimit(.minutes(1)))
    func openingWithoutRoom() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<10 { publisher.publish(Counted(number: number)) }
        let copy = try scratch.copied()
        await journal.close()
        let storage = try FaultyStorage(at: copy.path)
        storage.setFull(true)
        #expect { _ = try Self.journal(on: storage) } throws: { ($0 as? JournalError)?.code == .full }
        #expect(try StoredJournal(at: copy.path).verify { Issue.record("\($0)") } == 1..<11)
    }

    @Test(
        "J6: a record that the system writes and finds no room for is refused, and the next one is taken",
        .timeLimit(.minutes(1))
    )
    func noRoomForRecord() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        let (journal, publisher) = try Self.journal(on: storage)
        await journal.waitForSpare()
        publisher.publish(Counted(number: 0))
        storage.failNextWrites(1)
        await #expect {
            try await publisher.deliver(Counted(number: 1, text: Self.text), within: .seconds(60))
        } throws: { ($0 as? JournalError)?.code == .full }
        try await publisher.deliver(Counted(number: 2), within: .seconds(60))
        #expect(try await journal.numbers() == ([0, 2], 0))
        // Nothing of the refused record is left.
        let copy = try scratch.copied()
        #expect(try StoredJournal(at: copy.path).verify { Issue.record("\($0)") } == 1..<3)
        await journal.close()
    }

    @Test("J6: a short record that is refused after a long one is in no journal, also if a kill follows")
    func noRoomBehindRecord() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        let (journal, publisher) = try Self.journal(on: storage)
        await journal.waitForSpare()
        try await publisher.deliver(Counted(number: 0), within: .seconds(60))
        // The half that is written of the second has room for all of its record.
        storage.failNextWrites(2)
        for text in [String(repeating: "x", count: 20_000), ""] {
            await #expect {
                try await publisher.deliver(Counted(number: 1, text: text), within: .seconds(60))
            } throws: { ($0 as? JournalError)?.code == .full }
        }
        let copy = try scratch.copied()
        let again = try copy.open()
        #expect(try await again.numbers() == ([0], 0))
        #expect(again.recovery.lastPosition == 1)
        await again.close()
        // There is room again, and nothing of the two is left.
        try await publisher.deliver(Counted(number: 2), within: .seconds(60))
        #expect(try await journal.numbers() == ([0, 2], 0))
        let later = try scratch.copied()
        #expect(try StoredJournal(at: later.path).verify { Issue.record("\($0)") } == 1..<3)
        await journal.close()
    }

    @Test("J6: a close that finds no room for the end record is a close, and the next opening writes the record")
    func noRoomForEnd() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        let (journal, publisher) = try Self.journal(on: storage)
        await journal.waitForSpare()
        try await publisher.deliver(Counted(number: 0), within: .seconds(60))
        let reader = Task { try await journal.numbers(follows: true) }
        storage.failNextWrites(1)
        await journal.close()
        #expect(try await reader.value == ([0], 0))
        let again = try scratch.open()
        #expect(try await again.numbers() == ([0], 0))
        await again.close()
    }

    @Test(
        "J6: a segment whose head or bookmarks find no room costs no accepted event, also if a kill follows",
        .timeLimit(.minutes(1)),
        arguments: 0..<5
    )
    func noRoomForBookmarks(writes: Int) async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        let (journal, publisher) = try Self.journal(on: storage)
        await journal.waitForSpare()
        try publisher.publish(Counted(number: 0), bookmark: EventBookmark("0"))
        // Three of these fill the segment but for a few small events.
        let large = String(repeating: "x", count: 20_000)
        for number in 1...3 { publisher.publish(Counted(number: number, text: large)) }
        storage.failNextWrites(1, after: writes)
        var accepted = [0, 1, 2, 3]
        if (try? await publisher.deliver(Counted(number: 4, text: large), within: .seconds(60))) != nil {
            accepted.append(4)
        }
        // The segment before still has room for this one.
        if (try? await publisher.deliver(Counted(number: 5), within: .seconds(60))) != nil { accepted.append(5) }
        let copy = try scratch.copied()
        await journal.close()
        let again = try copy.open()
        let found = try await again.numbers()
        #expect(found == (accepted, 0))
        #expect(again.bookmark(ofWorker: publisher.source.origin) == EventBookmark("0"))
        await again.close()
    }

    // MARK: - Synchronizing

    @Test("Callers that wait return behind the synchronization, and publish does not wait", .timeLimit(.minutes(1)))
    func behindSynchronization() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try Self.journal(on: storage, .machine(within: .seconds(3_600)))
        let baton = Baton()
        storage.holdSynchronization(by: baton)
        publisher.publish(Counted(number: 1))
        #expect(journal.status.lastPosition == 1)
        #expect(journal.status.safePosition == 0)
        #expect(try await journal.numbers().found.isEmpty)
        let order = Order()
        let delivery = Task {
            try await publisher.deliver(Counted(number: 2), within: .seconds(60))
            order.note("delivered")
        }
        while journal.status.lastPosition < 2 { await Task.yield() }
        order.note("released")
        baton.handOver()
        try await delivery.value
        #expect(order.noted == ["released", "delivered"])
        #expect(journal.status.safePosition == 2)
        #expect(try await journal.numbers().found == [1, 2])
        publisher.publish(Counted(number: 3))
        try await journal.synchronize()
        #expect(try await journal.numbers().found == [1, 2, 3])
        await journal.close()
    }

    private final class Order: @unchecked Sendable {
        // Sendable: everything mutable is guarded by `lock`.
        private let lock = Lock()
        private var words: [String] = []
        var noted: [String] { lock.withLock { words } }
        func note(_ word: String) { lock.withLock { words.append(word) } }
    }

    @Test("Those who wait at once are synchronized as a group", .timeLimit(.minutes(2)))
    func groups() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try Self.journal(on: storage, .machine(within: .zero))
        let baton = Baton()
        storage.holdSynchronization(by: baton)
        let count = 200
        let before = storage.synchronizations
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask { try await publisher.deliver(Counted(number: number), within: .seconds(60)) }
            }
            while journal.status.lastPosition < count { await Task.yield() }
            baton.handOver()
            try await group.waitForAll()
        }
        #expect(storage.synchronizations - before <= 5)
        await journal.close()
    }

    @Test("An event is safe within the time that was asked for, without a caller that waits", .timeLimit(.minutes(1)))
    func withinTime() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open(.machine(within: .milliseconds(5)))
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        publisher.publish(Counted(number: 1))
        var steps = journal.events(of: Counted.self, after: 0).makeAsyncIterator()
        guard case .event = try await steps.next() else {
            Issue.record("no event")
            return
        }
        #expect(journal.status.safePosition == 1)
        #expect(journal.status.unsafeFor == nil)
        await journal.close()
    }

    @Test("J7: a synchronization that fails once closes the journal for good", .timeLimit(.minutes(1)))
    func failedSynchronization() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try Self.journal(on: storage, .machine(within: .seconds(3_600)))
        try await publisher.deliver(Counted(number: 1), within: .seconds(60))
        // Otherwise it may be the next segment's synchronization that fails.
        await journal.waitForSpare()
        storage.failSynchronizations(1)
        for number in 2...3 {
            await #expect { try await publisher.deliver(Counted(number: number), within: .seconds(60)) } throws: {
                guard let error = $0 as? JournalError else { return false }
                return error.code == .system && error.description.contains("closed for good")
            }
        }
        await #expect(throws: JournalError.self) { try await journal.synchronize() }
        #expect(journal.status.safePosition == 1)
        #expect(try await journal.numbers().found == [1])
        // Another journal may take its place at the publisher, even before it is closed.
        #expect(journal.core.isOver)
        await journal.close()
        // The safe events are there, and the journal goes on after the last event that it finds.
        let again = try EventJournal(at: scratch.path, segmentBytes: 64 << 10)
        #expect(try await again.numbers().found.first == 1)
        await again.close()
    }
}
