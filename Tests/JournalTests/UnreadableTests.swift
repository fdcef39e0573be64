import DomainEvents
import Locks
import Testing

@testable import Journal

/// Journals on a disk that cannot give back some of their bytes.
@Suite("A disk that cannot read a part of a journal")
struct UnreadableTests {
    private static let count = 300

    /// What a reading of a journal has found.
    private struct Found {
        var positions: [UInt64] = []
        var gaps: [JournalGap] = []

        var missing: UInt64 { gaps.reduce(0) { $0 + $1.count } }
    }

    /// A journal with ``count`` events in segments of 64 KiB, as a killed process has left it.
    private static func left() async throws -> (ScratchJournal, end: JournalState.Mark) {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<count { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        // Before that, a file may be renamed while the names are listed.
        await journal.waitForSpare()
        let copy = try scratch.copied()
        let end = journal.core.lock.withLock { journal.core.state.accepted }
        await journal.close()
        return (copy, end)
    }

    private static func found(in journal: StoredJournal) throws -> Found {
        var found = Found()
        try journal.read(after: 0, where: JournalQuery()) { step in
            switch step {
            case .event(let record): found.positions.append(record.position)
            case .gap(let gap): found.gaps.append(gap)
            }
            return true
        }
        return found
    }

    /// Checks that a host does not open the journal, and that its files stay as they are.
    private static func checkOpening(of scratch: ScratchJournal, on storage: FaultyStorage, names name: String) throws {
        let before = try scratch.bytes(of: name)
        #expect { _ = try FaultTests.journal(on: storage) } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .system && error.description.contains("reading \(name) failed")
                && error.description.contains("salvage")
        }
        #expect(try scratch.bytes(of: name) == before)
    }

    @Test(
        "J28: a sector that cannot be read is told with place and count, and what lies behind it is read and salvaged",
        .timeLimit(.minutes(1))
    )
    func sector() async throws {
        let (scratch, _) = try await Self.left()
        let storage = try FaultyStorage(at: scratch.path)
        let name = SegmentCatalog.fileName(of: 2)
        storage.loseBytes(20_480..<20_992, of: name)
        let journal = try StoredJournal(storage, at: "test") { nil }
        var gaps: [JournalGap] = []
        #expect(try journal.verify { gaps.append($0) } == 1..<301)
        #expect(gaps.count == 1 && !journal.lacksEnd)
        let gap = try #require(gaps.first)
        guard case .damaged(name, let offset, let byteCount) = gap.reason else {
            Issue.record("\(gap)")
            return
        }
        // The system reads whole pages, so it loses the sector's page.
        #expect(offset <= 20_480 && offset + byteCount >= 24_576 && byteCount < 8_192)
        let found = try Self.found(in: journal)
        #expect(found.gaps == gaps && (1...6).contains(gap.count))
        #expect(found.positions == (UInt64(1)...300).filter { gap.positions?.contains($0) != true })

        let target = try ScratchJournal()
        var told: [JournalGap] = []
        #expect(try journal.salvage(into: target.path) { told.append($0) } == 300 - gap.count)
        #expect(told == gaps)
    }

    @Test("J28: a read that fails once is tried again, and nothing is missing", .timeLimit(.minutes(1)))
    func once() async throws {
        let (scratch, _) = try await Self.left()
        let storage = try FaultyStorage(at: scratch.path)
        storage.failNextReads(1)
        let journal = try StoredJournal(storage, at: "test") { nil }
        #expect(journal.catalog.segments.allSatisfy { $0.head != nil })
        storage.failNextReads(1)
        let found = try Self.found(in: journal)
        #expect(found.positions.count == Self.count && found.gaps.isEmpty)
    }

    @Test(
        "J28: if the last records cannot be read, that is told, and no host goes on in their place",
        .timeLimit(.minutes(1))
    )
    func lastRecords() async throws {
        let (scratch, end) = try await Self.left()
        let storage = try FaultyStorage(at: scratch.path)
        let name = SegmentCatalog.fileName(of: end.number)
        storage.loseBytes((end.offset - 512)..<end.offset, of: name)
        let journal = try StoredJournal(storage, at: "test") { nil }
        let found = try Self.found(in: journal)
        #expect(found.positions == Array(1...UInt64(found.positions.count)))
        #expect((290..<300).contains(found.positions.count))
        #expect(found.gaps.map(\.positions) == [nil] && journal.lacksEnd)
        guard case .damaged(name, _, _)? = found.gaps.first?.reason else {
            Issue.record("\(found.gaps)")
            return
        }
        try Self.checkOpening(of: scratch, on: storage, names: name)
    }

    @Test(
        "J28: without a head that can be read a segment's events are there, and no host opens the journal",
        .timeLimit(.minutes(1)),
        arguments: [true, false]
    )
    func head(isLast: Bool) async throws {
        let (scratch, end) = try await Self.left()
        let storage = try FaultyStorage(at: scratch.path)
        let name = SegmentCatalog.fileName(of: isLast ? end.number : 2)
        storage.loseBytes(0..<512, of: name)
        let found = try Self.found(in: try StoredJournal(storage, at: "test") { nil })
        #expect(found.positions.count == Self.count && found.gaps.count == 1 && found.missing == 0)
        guard case .unreadable(name, let why)? = found.gaps.first?.reason else {
            Issue.record("\(found.gaps)")
            return
        }
        #expect(why.contains("(EIO)"))
        try Self.checkOpening(of: scratch, on: storage, names: name)
    }

    @Test("J28: a reader in the program that writes goes on behind such a sector, too", .timeLimit(.minutes(1)))
    func ownReader() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage)
        for number in 0..<Self.count { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        storage.loseBytes(20_480..<20_992, of: SegmentCatalog.fileName(of: 2))
        let (found, missing) = try await journal.numbers()
        #expect((1...6).contains(missing))
        #expect(found.count + Int(missing) == Self.count && found.last == Self.count - 1)
        await journal.close()
    }

    @Test(
        "J28: a reader in the program that writes is told of last records that cannot be read",
        .timeLimit(.minutes(1))
    )
    func ownReaderAtTheEnd() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage)
        for number in 0..<Self.count { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        let end = journal.core.lock.withLock { journal.core.state.safe }
        storage.loseBytes((end.offset - 512)..<end.offset, of: SegmentCatalog.fileName(of: end.number))
        let (found, missing) = try await journal.numbers()
        #expect((1...10).contains(missing))
        #expect(found == Array(0..<(Self.count - Int(missing))))
        await journal.close()
    }

    @Test("A reading that takes its time tells each gap once", .timeLimit(.minutes(1)))
    func stepByStep() async throws {
        let (scratch, _) = try await Self.left()
        try scratch.overwrite(SegmentCatalog.fileName(of: 1), at: 0, with: [UInt8](repeating: 0xEE, count: 72))
        let reading = try StoredJournal(at: scratch.path).reading(after: 0, where: JournalQuery())
        var found = Found()
        while let step = try reading.next() {
            switch step {
            case .event(let record): found.positions.append(record.position)
            case .gap(let gap): found.gaps.append(gap)
            }
        }
        #expect(found.positions == Array(1...300))
        #expect(found.gaps.count == 1)
    }
}
