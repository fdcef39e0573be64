import DomainEvents
import JournalFormat
import Locks
import TestSupport
import Testing

@testable import Journal

@Suite("Bookmarks in a journal")
struct BookmarkTests {
    /// Records an event of a worker, with a bookmark if `mark` is not nil.
    @discardableResult
    private static func append(
        _ mark: String?,
        of worker: String = "importer",
        number: UInt64 = 1,
        bytes: Int = 20,
        to journal: EventJournal
    ) throws -> Bool {
        let context = EventContext(
            id: EventID(origin: worker, incarnation: 5, number: number),
            nanosecondsSinceEpoch: 1_700_000_000_000_000_000,
            bookmark: mark.map { WorkerBookmark(EventBookmark($0), of: worker) }
        )
        journal.core.makeRoom(for: bytes)
        return try journal.core.append(
            [UInt8](repeating: 0x60, count: bytes),
            name: "Imported",
            context: context,
            whenSettled: nil
        )
    }

    /// The bookmarks of all events that can be read.
    private static func marks(_ journal: ScratchJournal) throws -> [String?] {
        var marks: [String?] = []
        try StoredJournal(at: journal.path).read(after: 0, where: JournalQuery()) { step in
            if case .event(let record) = step { marks.append(record.bookmark?.text) }
            return true
        }
        return marks
    }

    @Test(
        "An event that might not fit beside grown bookmarks is refused wherever in a segment it comes",
        .timeLimit(.minutes(1)),
        arguments: [nil, "mark"]
    )
    func longest(mark: String?) async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open(segmentBytes: 64 << 10)
        for worker in 1...50 { try Self.append("at 1", of: "worker-\(worker)", to: journal) }
        // 50 bookmarks of 256 bytes leave less room, but these bookmarks are short, and the segment is nearly empty.
        let error = #expect(throws: JournalError.self) {
            try Self.append(mark, of: "worker-1", number: 2, bytes: 55_000, to: journal)
        }
        #expect(error?.code == .notRecordable)
        try Self.append(mark, of: "worker-1", number: 3, bytes: 40_000, to: journal)
        #expect(journal.status.lastPosition == 51)
        await journal.close()
    }

    @Test("J24: each cut of the file gives event and bookmark together or neither", .timeLimit(.minutes(10)))
    func cuts() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        for number in 1...6 as ClosedRange<UInt64> {
            try Self.append("at \(number)", number: number, to: journal)
            try Self.append(nil, number: 100 + number, to: journal)
        }
        let whole = try scratch.copied()
        let name = try #require(try scratch.segments.first)
        let end = journal.core.lock.withLock { journal.core.writer.offset }
        await journal.close()
        var random = SeededGenerator.announced()
        let ends = share(of: Array(SegmentHead.byteCount...end), using: &random)
        for cut in ends {
            let left = try whole.copied()
            if cut % 2 == 0 {
                try left.cut(name, to: cut)
            } else {
                try left.overwrite(name, at: cut, with: [UInt8](repeating: 0, count: end + 8 - cut))
            }
            let found = try Self.marks(left).compactMap { $0 }.last
            let again = try left.open()
            #expect(again.bookmark(ofWorker: "importer")?.text == found, "cut at \(cut)")
            await again.close()
        }
    }

    @Test("The bookmark outlives the segment with its event, and each start of the journal", .timeLimit(.minutes(2)))
    func retention() async throws {
        let scratch = try ScratchJournal()
        for start in 0..<4 {
            let journal = try scratch.open(retention: JournalRetention(bytes: 200 << 10))
            #expect(journal.bookmark(ofWorker: "importer")?.text == (start == 0 ? nil : "place"))
            if start == 0 { try Self.append("place", to: journal) }
            for number in 1...400 as ClosedRange<UInt64> {
                try Self.append(nil, number: number, bytes: 2_000, to: journal)
            }
            if start == 2 { try Self.append("other", of: "reader", to: journal) }
            await journal.close()
        }
        #expect(try Self.marks(scratch).allSatisfy { $0 != "place" })
        // A start without an event replaces its segment, bookmarks included.
        for _ in 0..<3 { await (try scratch.open()).close() }
        let journal = try scratch.open()
        #expect(journal.bookmark(ofWorker: "importer")?.text == "place")
        #expect(journal.bookmark(ofWorker: "reader")?.text == "other")
        #expect(journal.core.lastBookmark(of: "reader") == .last(EventBookmark("other")))
        #expect(journal.core.lastBookmark(of: "another") == .last(nil))
        await journal.close()
    }

    @Test("If the bookmarks at the beginning of a segment are damaged, those of earlier segments count")
    func damagedTable() async throws {
        let scratch = try ScratchJournal()
        let first = try scratch.open()
        try Self.append("1", to: first)
        try Self.append("1", of: "reader", to: first)
        await first.close()
        let second = try scratch.open()
        try Self.append("2", number: 2, to: second)
        await second.close()
        for name in try scratch.segments.suffix(1) {
            try scratch.overwrite(name, at: SegmentHead.byteCount + 20, with: [0xFF])
        }
        let third = try scratch.open()
        #expect(third.recovery.gaps.count == 1)
        #expect(third.bookmark(ofWorker: "importer")?.text == "2")
        #expect(third.bookmark(ofWorker: "reader")?.text == "1")
        await third.close()
    }

    @Test("A bookmark behind a place where events are missing does not count: those events are imported again")
    func behindHole() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        var offsets: [Int] = []
        for number in 1...5 as ClosedRange<UInt64> {
            offsets.append(journal.core.lock.withLock { journal.core.writer.offset })
            try Self.append("\(number)", number: number, to: journal)
        }
        await journal.close()
        try scratch.overwrite(try #require(try scratch.segments.first), at: offsets[2] + 20, with: [0xFF])
        let again = try scratch.open()
        #expect(again.bookmark(ofWorker: "importer")?.text == "2")
        await again.close()
    }

    @Test(
        "J19, J24: after a power cut a bookmark is there only with its event and all before it",
        .timeLimit(.minutes(10)),
        arguments: 0..<6
    )
    func powerCuts(run: Int) async throws {
        let scratch = try ScratchJournal()
        let storage = try PowerCutStorage(at: scratch.path)
        var settings = JournalCore.Settings()
        settings.durability = .machine(within: .seconds(3_600))
        settings.segmentBytes = 64 << 10
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        var safe: UInt64 = 0
        for number in 1...160 as ClosedRange<UInt64> {
            // Thirty events fill a segment, so a segment often begins before the one before it is safe.
            try Self.append("\(number)", number: number, bytes: 2_000, to: journal)
            if number % UInt64(7 + run) == 0 {
                try await journal.synchronize()
                safe = number
            }
            guard number % 5 == 0 else { continue }
            let left = try ScratchJournal()
            try storage.leave(in: try left.files, seed: UInt64(run << 16) + number)
            let opened = try left.open()
            let marks = try Self.marks(left)
            let bookmark = opened.bookmark(ofWorker: "importer").flatMap { $0.text }.flatMap { UInt64($0) } ?? 0
            #expect(bookmark >= safe, "\(number): \(bookmark) is less than \(safe)")
            #expect(marks.prefix(Int(bookmark)).map { $0 ?? "-" } == (0..<bookmark).map { "\($0 + 1)" })
            await opened.close()
        }
        await journal.close()
    }

    @Test("With durability against power cuts, a bookmark is told behind the synchronization", .timeLimit(.minutes(1)))
    func toldWhenSafe() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        var settings = JournalCore.Settings()
        settings.durability = .machine(within: .seconds(3_600))
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        try Self.append("1", to: journal)
        #expect(journal.status.safePosition == 0)
        #expect(journal.core.lastBookmark(of: "importer") == .last(EventBookmark("1")))
        #expect(journal.status.safePosition == 1)
        // A failed journal keeps no bookmarks.
        try Self.append("2", number: 2, to: journal)
        // Otherwise it may be the next segment's synchronization that fails.
        await journal.waitForSpare()
        storage.failSynchronizations(1)
        #expect(journal.core.lastBookmark(of: "importer") == .notKept)
        #expect(journal.core.lastBookmark(of: "importer") == .notKept)
        await journal.close()
    }

    @Test("Bookmarks take a quarter of a segment at most; a worker more is refused, and smaller segments are, too")
    func room() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open(segmentBytes: 128 << 10)
        var count = 0
        let refused = #expect(throws: JournalError.self) {
            while true {
                try Self.append("x", of: "worker-\(count)", to: journal)
                count += 1
            }
        }
        #expect(refused?.code == .notRecordable)
        #expect("\(try #require(refused))".contains("no room for the bookmarks of another worker, worker-\(count)"))
        #expect((100...130).contains(count))
        // All of them may grow, and an event as large as ever then fits behind them.
        for number in 0..<count {
            try Self.append(String(repeating: "y", count: 256), of: "worker-\(number)", to: journal)
        }
        let largest = SegmentWriter.longestStride(inSegmentOf: 128 << 10) * 3 / 4
        for _ in 0..<3 { try Self.append(nil, bytes: largest - 2_000, to: journal) }
        await journal.close()
        let error = #expect(throws: JournalError.self) { try scratch.open(segmentBytes: 64 << 10) }
        #expect("\(try #require(error))".contains("for which segments of 65536 bytes are too small"))
        let again = try scratch.open(segmentBytes: 128 << 10)
        #expect(again.bookmark(ofWorker: "worker-7")?.bytes.count == 256)
        await again.close()
    }

    @Test("A salvaged journal has no bookmark behind an event that it could not take", .timeLimit(.minutes(1)))
    func salvagedWithoutLargeEvent() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open(segmentBytes: 256 << 10)
        try Self.append("before", number: 1, to: journal)
        try Self.append(nil, number: 2, bytes: 100_000, to: journal)
        try Self.append("behind", number: 3, to: journal)
        await journal.close()
        let target = try ScratchJournal()
        var gaps = 0
        let count = try StoredJournal(at: scratch.path).salvage(into: try target.open()) { _ in gaps += 1 }
        #expect((count, gaps) == (2, 1))
        let salvaged = try target.open()
        #expect(salvaged.bookmark(ofWorker: "importer") == EventBookmark("before"))
        await salvaged.close()
    }

    @Test("A salvaged journal has the bookmarks behind damaged notes: no event is missing", .timeLimit(.minutes(1)))
    func salvagedBehindNotes() async throws {
        let scratch = try ScratchJournal()
        let first = try scratch.open()
        try Self.append("before", number: 1, to: first)
        let offset = first.core.lock.withLock { first.core.state.accepted.offset }
        let source = EventSource(origin: "host", incarnation: 1)
        first.core.note(.settled(source: source, ranges: [1...1], by: NotedReceiver(name: "a")))
        await first.close()
        let second = try scratch.open()
        try Self.append("behind", number: 2, to: second)
        await second.close()
        let name = SegmentCatalog.fileName(of: 1)
        let byteCount = try scratch.bytes(of: name).count - offset
        try scratch.overwrite(name, at: offset, with: [UInt8](repeating: 0xEE, count: byteCount))

        let target = try ScratchJournal()
        var gaps: [JournalGap] = []
        #expect(try StoredJournal(at: scratch.path).salvage(into: target.path) { gaps.append($0) } == 2)
        #expect(
            gaps == [JournalGap(positions: nil, reason: .damaged(file: name, offset: offset, byteCount: byteCount))]
        )
        let salvaged = try target.open()
        #expect(salvaged.bookmark(ofWorker: "importer") == EventBookmark("behind"))
        await salvaged.close()
    }
}
