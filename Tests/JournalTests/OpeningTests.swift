import BridgePlatform
import DomainEvents
import JournalFormat
import Testing

@testable import Journal

@Suite("A journal that is opened again")
struct OpeningTests {
    /// A closed journal with `count` events of a kilobyte in segments of 64 KiB.
    private static func filled(_ count: Int) async throws -> ScratchJournal {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<count { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        await journal.close()
        return scratch
    }

    /// A journal that has reached position 10 and keeps no event.
    private static func emptied() async throws -> ScratchJournal {
        let scratch = try await filled(10)
        await (try scratch.open()).close()
        #expect(try StoredJournal(at: scratch.path).trim(before: .max).count == 1)
        #expect(try scratch.segments.count == 1)
        return scratch
    }

    private static func checkNextPosition(of scratch: ScratchJournal, behind position: UInt64) async throws {
        let journal = try scratch.open()
        #expect(journal.recovery.lastPosition == position)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        publisher.publish(Counted(number: 7))
        #expect(journal.status.lastPosition == position + 1)
        #expect(try await journal.numbers(after: position) == ([7], 0))
        await journal.close()
    }

    @Test("J25: an opening that found no room leaves the position where it was", .timeLimit(.minutes(1)))
    func failedOpening() async throws {
        let scratch = try await Self.emptied()
        let storage = try FaultyStorage(at: scratch.path)
        storage.setFull(true)
        #expect { _ = try FaultTests.journal(on: storage) } throws: { ($0 as? JournalError)?.code == .full }
        try await Self.checkNextPosition(of: scratch, behind: 10)
    }

    @Test("J25: starts that are killed before an event leave no files, and the position", .timeLimit(.minutes(1)))
    func killedStarts() async throws {
        var left = try await Self.emptied()
        for _ in 0..<3 {
            let journal = try left.open()
            #expect(journal.recovery.lastPosition == 10)
            await journal.waitForSpare()
            let copy = try left.copied()
            await journal.close()
            left = copy
        }
        // The last segment, and the segment that was made ahead.
        #expect(try left.segments.count == 2)
        try await Self.checkNextPosition(of: left, behind: 10)
    }

    @Test(
        "J26: a segment whose first bytes are zeros is told and read, and is never removed",
        .timeLimit(.minutes(1)),
        arguments: [true, false],
        [72, 8_192]
    )
    func zeroedHead(isLast: Bool, zeros: Int) async throws {
        let scratch = try await Self.filled(300)
        let names = try scratch.segments
        let name = isLast ? names[names.count - 1] : names[2]
        try scratch.overwrite(name, at: 0, with: [UInt8](repeating: 0, count: zeros))
        var gaps: [JournalGap] = []
        #expect(try StoredJournal(at: scratch.path).verify { gaps.append($0) } == 1..<301)
        #expect(gaps.contains { if case .unreadable(name, _) = $0.reason { true } else { false } })
        let journal = try scratch.open()
        #expect(try scratch.segments.contains(name))
        #expect(journal.recovery.lastPosition == 300)
        #expect(journal.recovery.gaps.isEmpty != isLast)
        let (found, missing) = try await journal.numbers()
        #expect(UInt64(found.count) + missing == 300)
        // Three records and a part of the fourth lie before byte 8,192.
        #expect(missing == (zeros == 72 ? 0 : 4))
        await journal.close()
        try await Self.checkNextPosition(of: scratch, behind: 300)
    }

    @Test("J26: a segment whose head is gone is told by verify also as the oldest one", .timeLimit(.minutes(1)))
    func zeroedOldest() async throws {
        let scratch = try await Self.filled(300)
        try scratch.overwrite(SegmentCatalog.fileName(of: 1), at: 0, with: [UInt8](repeating: 0, count: 72))
        var gaps: [JournalGap] = []
        #expect(try StoredJournal(at: scratch.path).verify { gaps.append($0) } == 1..<301)
        #expect(gaps.count == 1)
    }

    @Test("Segments that are removed while a journal is verified are no damage", .timeLimit(.minutes(1)))
    func trimmedMeanwhile() async throws {
        let scratch = try await Self.filled(300)
        let stored = try StoredJournal(at: scratch.path)
        #expect(try !StoredJournal(at: scratch.path).trim(before: 150).isEmpty)
        let first = try #require(try StoredJournal(at: scratch.path).catalog.firstPosition)
        #expect(try stored.verify { Issue.record("\($0)") } == first..<301)
        #expect(first > 1)
    }

    @Test("J26: the only segment without its head is not opened, and not removed", .timeLimit(.minutes(1)))
    func zeroedOnly() async throws {
        let scratch = try await Self.filled(10)
        let name = SegmentCatalog.fileName(of: 1)
        try scratch.overwrite(name, at: 0, with: [UInt8](repeating: 0, count: 72))
        let before = try scratch.bytes(of: name)
        #expect { _ = try scratch.open() } throws: { ($0 as? JournalError)?.code == .damaged }
        #expect(try scratch.bytes(of: name) == before)
    }

    @Test("J26: a file that is longer than any segment is told at once, and not removed", .timeLimit(.minutes(1)))
    func endlessFile() async throws {
        let scratch = try await Self.filled(300)
        let (name, length) = (SegmentCatalog.fileName(of: 1_000), 1 << 40)
        try scratch.makeSparse(name, length)
        let catalog = try SegmentCatalog(
            of: FaultyStorage(at: scratch.path),
            at: scratch.path,
            skipsUnreadable: false
        )
        #expect(catalog.unused.isEmpty && catalog.segments.last?.byteCount == length)
        #expect(catalog.byteCount(with: .max - length) == .max)
        let journal = try scratch.open()
        #expect(journal.recovery.lastPosition == 300)
        await journal.close()
        #expect(try scratch.segments.contains(name))
    }

    @Test(
        "J19: what a journal finds is called safe against a power cut behind a synchronization of all its files",
        .timeLimit(.minutes(1))
    )
    func synchronizedOpening() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<300 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        await journal.waitForSpare()
        let copy = try scratch.copied()
        await journal.close()
        let names = try copy.segments.dropLast()
        #expect(names.count > 3)
        let storage = try FaultyStorage(at: copy.path)
        let (again, _) = try FaultTests.journal(on: storage, .machine(within: .seconds(3_600)))
        #expect(again.status.safePosition == 300)
        #expect(names.allSatisfy(storage.synchronizedNames.contains))
        // The journal writes data again that the system takes for written, from the first record of the last file on.
        #expect(names.last.map { storage.bytesWritten(to: $0) > 1_000 } == true)
        await again.close()
    }

    @Test("J6: a journal that may forget its oldest events does so when it is opened", .timeLimit(.minutes(1)))
    func forgetting() async throws {
        let scratch = try await Self.filled(300)
        let storage = try FaultyStorage(at: scratch.path)
        storage.failNextFills(2)
        let (journal, publisher) = try FaultTests.journal(on: storage, whenFull: .removeOldest)
        publisher.publish(Counted(number: 300))
        let (found, missing) = try await journal.numbers()
        #expect(missing > 0)
        #expect(UInt64(found.count) + missing == 301)
        await journal.close()
    }

    /// An opening of a killed journal, on a file system that may need room to overwrite bytes and has none.
    enum FullOpening: CaseIterable, Sendable {
        case endRecord, newSegment, writtenAgain, writtenAgainAndNewSegment

        var durability: JournalDurability {
            switch self {
            case .endRecord, .newSegment: .process
            case .writtenAgain, .writtenAgainAndNewSegment: .machine(within: .seconds(3_600))
            }
        }

        /// How many new files find no room.
        var fills: Int {
            switch self {
            case .endRecord, .writtenAgain: 0
            case .newSegment: 2
            case .writtenAgainAndNewSegment: 1
            }
        }

        /// How many segments have to go.
        var removals: Int {
            switch self {
            case .endRecord: 0
            case .writtenAgain: 1
            case .newSegment, .writtenAgainAndNewSegment: 2
            }
        }
    }

    /// A journal with `count` events of a kilobyte, as a killed process has left it.
    private static func killed(_ count: Int) async throws -> ScratchJournal {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<count { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        // Before that, a file may be renamed while the names are listed.
        await journal.waitForSpare()
        let copy = try scratch.copied()
        await journal.close()
        return copy
    }

    @Test(
        "J6: where writing in place needs room, a full disk costs a killed journal only what may be removed",
        .timeLimit(.minutes(1)),
        arguments: FullOpening.allCases
    )
    func killedOnFullDisk(opening: FullOpening) async throws {
        let scratch = try await Self.killed(300)
        // This includes the file made ahead, which the new segment replaces.
        let segments = try scratch.segments.count
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        storage.failNextWrites(1)
        storage.failNextFills(opening.fills)
        let (journal, publisher) = try FaultTests.journal(on: storage, opening.durability, whenFull: .removeOldest)
        #expect(journal.recovery.lastPosition == 300 && !journal.recovery.wasClosed && journal.recovery.gaps.isEmpty)
        #expect(journal.status.segments == segments - opening.removals)
        try await publisher.deliver(Counted(number: 300), within: .seconds(60))
        let (found, missing) = try await journal.numbers()
        #expect((missing > 0) == (opening.removals > 0))
        #expect(found == Array(Int(missing)...300))
        await journal.close()
        // No reader misses the end record that was not written.
        let kept = try StoredJournal(at: scratch.path).verify { Issue.record("\($0)") }
        #expect(kept == (missing + 1)..<302)
    }

    @Test(
        "J6: a journal that may remove nothing is opened without room for the end record, or stays as it was",
        .timeLimit(.minutes(1)),
        arguments: [false, true]
    )
    func killedOnFullDiskAndKept(isFull: Bool) async throws {
        let scratch = try await Self.killed(100)
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        storage.failNextWrites(1)
        storage.setFull(isFull)
        if isFull {
            #expect { _ = try FaultTests.journal(on: storage) } throws: { ($0 as? JournalError)?.code == .full }
        } else {
            await (try FaultTests.journal(on: storage).0).close()
        }
        try await Self.checkNextPosition(of: scratch, behind: 100)
        #expect(try StoredJournal(at: scratch.path).verify { Issue.record("\($0)") } == 1..<102)
    }

    @Test("J6: with .machine, a journal is not opened before its last segment is written once more")
    func killedAndNotWrittenAgain() async throws {
        let scratch = try await Self.killed(100)
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        storage.failNextWrites(1)
        #expect {
            _ = try FaultTests.journal(on: storage, .machine(within: .seconds(3_600)))
        } throws: { ($0 as? JournalError)?.code == .full }
        try await Self.checkNextPosition(of: scratch, behind: 100)
    }
}
