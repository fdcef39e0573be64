import BridgePlatform
import DomainEvents
import JournalFormat
import Locks
import Testing

@testable import Journal

@Suite("Salvage of a damaged journal")
struct SalvageTests {
    /// Destroys the head of a segment.
    private static func behead(_ scratch: ScratchJournal, segment: UInt64) throws {
        try scratch.overwrite(
            SegmentCatalog.fileName(of: segment),
            at: 0,
            with: [UInt8](repeating: 0xEE, count: SegmentHead.byteCount)
        )
    }

    /// Adds events to a journal whose new segments have this size, and returns where each event begins in its segment.
    private static func fill(_ scratch: ScratchJournal, _ texts: [String], segmentBytes: Int) async throws -> [Int] {
        let journal = try scratch.open(segmentBytes: segmentBytes)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        var offsets: [Int] = []
        for (number, text) in texts.enumerated() {
            offsets.append(journal.core.lock.withLock { journal.core.state.safe.offset })
            publisher.publish(Counted(number: number, text: text))
        }
        await journal.close()
        return offsets
    }

    /// The lengths of the texts of all events in a journal that has no damage.
    private static func lengths(of scratch: ScratchJournal) async throws -> [Int] {
        let journal = try scratch.open()
        var lengths: [Int] = []
        for try await step in journal.events(of: Counted.self, after: 0, follows: false) {
            switch step {
            case .event(let entry): lengths.append(entry.event.text.utf8.count)
            case .gap(let gap): Issue.record("\(gap)")
            }
        }
        await journal.close()
        return lengths
    }

    @Test(
        "An event that is larger than the segments whose heads are left is copied, as are the events after it",
        .timeLimit(.minutes(1)),
        arguments: [true, false]
    )
    func largeEvent(isClosed: Bool) async throws {
        let (scratch, target) = (try ScratchJournal(), try ScratchJournal())
        _ = try await Self.fill(scratch, ["a"], segmentBytes: 64 << 10)
        let large = String(repeating: "x", count: 1 << 20)
        let offsets = try await Self.fill(scratch, [large, "bc"], segmentBytes: 4 << 20)
        _ = try await Self.fill(scratch, ["def"], segmentBytes: 64 << 10)
        if !isClosed {
            // The file ends with the large event, and has no room for an end record.
            try scratch.cut(SegmentCatalog.fileName(of: 2), to: offsets[1])
        }
        try Self.behead(scratch, segment: 2)
        var gaps: [JournalGap] = []
        let count = try StoredJournal(at: scratch.path).salvage(into: target.path) { gaps.append($0) }
        #expect(count == (isClosed ? 4 : 3))
        #expect(try await Self.lengths(of: target) == (isClosed ? [1, 1 << 20, 2, 3] : [1, 1 << 20, 3]))
        #expect(gaps.compactMap(\.positions) == (isClosed ? [] : [3..<4]))
    }

    @Test(
        "An event that no journal takes becomes a gap that says why, and what follows is copied",
        .timeLimit(.minutes(1))
    )
    func unrecordableEvent() async throws {
        let (scratch, target) = (try ScratchJournal(), try ScratchJournal())
        let offset = try await Self.fill(
            scratch,
            ["a", String(repeating: "x", count: 6_000), "b"],
            segmentBytes: 64 << 10
        )[1]
        // The name takes 5,000 bytes of the event; this program writes 4,096 at most.
        let name = SegmentCatalog.fileName(of: 1)
        var bytes = try scratch.bytes(of: name)
        bytes[offset + 10] = UInt8(5_000 & 0xFF)
        bytes[offset + 11] = UInt8(5_000 >> 8)
        let length = bytes.withUnsafeBytes {
            Int($0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) & 0x0FFF_FFFF)
        }
        let catalog = try SegmentCatalog(
            of: FaultyStorage(at: scratch.path),
            at: scratch.path,
            skipsUnreadable: false
        )
        let seed = try #require(catalog.segments.first?.head).seed
        let place = withUnsafeBytes(of: (UInt64(offset).littleEndian, UInt64(length).littleEndian)) {
            Checksum.crc32c($0, after: seed)
        }
        let checksum = bytes[(offset + 8)..<(offset + length)].withUnsafeBytes { Checksum.crc32c($0, after: place) }
        let sealed = withUnsafeBytes(of: checksum.littleEndian, Array.init)
        try scratch.overwrite(name, at: offset, with: Array(bytes[offset..<(offset + 4)]) + sealed)
        try scratch.overwrite(name, at: offset + 8, with: Array(bytes[(offset + 8)..<(offset + 16)]))

        var gaps: [JournalGap] = []
        let count = try StoredJournal(at: scratch.path).salvage(into: target.path) { gaps.append($0) }
        #expect(count == 2)
        #expect(try await Self.lengths(of: target) == [1, 1])
        #expect(gaps.map(\.positions) == [2..<3])
        #expect(gaps.first?.description.contains("4096 are the most") == true)
    }

    @Test("A failure closes the new journal, and says that it is incomplete", .timeLimit(.minutes(1)))
    func fullDisk() async throws {
        let (scratch, target) = (try ScratchJournal(), try ScratchJournal())
        let texts = [String](repeating: FaultTests.text, count: 300)
        _ = try await Self.fill(scratch, texts, segmentBytes: 64 << 10)
        let storage = try FaultyStorage(at: target.path)
        let (journal, _) = try FaultTests.journal(on: storage)
        storage.setFull(true)
        #expect { _ = try StoredJournal(at: scratch.path).salvage(into: journal) { _ in } } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .full && error.description.hasSuffix("events: remove it before another attempt")
        }
        #expect(!journal.isOpen)
        #expect((1..<300).contains(journal.status.lastPosition))
    }

    @Test("How many events are missing is unknown if damage ends the journal, and only then", .timeLimit(.minutes(1)))
    func lacksEnd() async throws {
        func lacksEnd(_ damage: (ScratchJournal, _ lastEvent: Int) throws -> Void) async throws -> (Bool, UInt64) {
            let scratch = try ScratchJournal()
            for _ in 0..<2 { _ = try await Self.fill(scratch, ["a", "b"], segmentBytes: 64 << 10) }
            let offsets = try await Self.fill(scratch, ["a", "b"], segmentBytes: 64 << 10)
            try damage(scratch, offsets[1])
            let stored = try StoredJournal(at: scratch.path)
            var missing: UInt64 = 0
            #expect(try stored.verify { missing += $0.count }.lowerBound == 1)
            return (stored.lacksEnd, missing)
        }
        #expect(try await lacksEnd { _, _ in } == (false, 0))
        #expect(try await lacksEnd { scratch, _ in try Self.behead(scratch, segment: 2) } == (false, 0))
        #expect(try await lacksEnd { scratch, _ in try Self.behead(scratch, segment: 3) } == (false, 0))
        let damage = [UInt8](repeating: 0xEE, count: 16)
        let (second, third) = (SegmentCatalog.fileName(of: 2), SegmentCatalog.fileName(of: 3))
        #expect(
            try await lacksEnd { scratch, _ in try scratch.overwrite(second, at: 4_096, with: damage) } == (false, 1)
        )
        #expect(
            try await lacksEnd { scratch, _ in try scratch.overwrite(third, at: 4_096, with: damage) } == (false, 1)
        )
        #expect(
            try await lacksEnd { scratch, last in try scratch.overwrite(third, at: last, with: damage) } == (false, 1)
        )
        #expect(try await lacksEnd { scratch, last in try scratch.cut(third, to: last) } == (true, 0))
        #expect(
            try await lacksEnd { scratch, last in
                try scratch.overwrite(second, at: 4_096, with: damage)
                try scratch.cut(third, to: last + 8)
            } == (true, 1)
        )
        #expect(try await lacksEnd { scratch, _ in try scratch.cut(third, to: 100) } == (true, 0))
    }

    @Test("A journal none of whose heads can be read is refused, and no new journal is made", .timeLimit(.minutes(1)))
    func noHead() async throws {
        let (scratch, target) = (try ScratchJournal(), try ScratchJournal())
        _ = try await Self.fill(scratch, ["a", "b"], segmentBytes: 64 << 10)
        try Self.behead(scratch, segment: 1)
        #expect { _ = try StoredJournal(at: scratch.path).salvage(into: target.path) { _ in } } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .damaged && error.description.contains("no head")
        }
        #expect { _ = try StoredJournal(at: target.path) } throws: { ($0 as? JournalError)?.code == .system }
    }

    @Test("A directory with a journal of events is refused, and no file in it changes", .timeLimit(.minutes(1)))
    func usedDirectory() async throws {
        let (scratch, other) = (try ScratchJournal(), try ScratchJournal())
        /// Salvages into a journal whose first segment was torn here, and which was making a segment.
        func salvage(into target: ScratchJournal, tornAt offset: Int) throws {
            try target.cut(SegmentCatalog.fileName(of: 1), to: offset)
            _ = try? target.files.create(SegmentCatalog.unfinishedName)
            func files() throws -> [String: [UInt8]] {
                let names = try target.files.names()
                return Dictionary(uniqueKeysWithValues: try names.map { ($0, try target.bytes(of: $0)) })
            }
            let before = try files()
            #expect { _ = try StoredJournal(at: scratch.path).salvage(into: target.path) { _ in } } throws: { error in
                guard let error = error as? JournalError else { return false }
                return error.code == .unsuitableDirectory && error.description.hasSuffix("; expected a new directory")
            }
            #expect(try files() == before)
        }
        let offsets = try await Self.fill(scratch, ["a", "b", "c"], segmentBytes: 64 << 10)
        try salvage(into: scratch, tornAt: offsets[2] + 5)
        // The same journal in another directory, with no event that can be read.
        try salvage(into: try scratch.copied(), tornAt: offsets[0])
        _ = try await Self.fill(other, ["a", "b", "c"], segmentBytes: 64 << 10)
        try salvage(into: other, tornAt: offsets[2] + 5)
        // Its events cannot be read, but may be worth salvaging, too.
        try salvage(into: other, tornAt: offsets[0] + 5)
    }

    @Test("A journal without events takes what is salvaged", .timeLimit(.minutes(1)))
    func unusedJournal() async throws {
        let (scratch, target) = (try ScratchJournal(), try ScratchJournal())
        _ = try await Self.fill(scratch, ["a", "bc"], segmentBytes: 64 << 10)
        await (try target.open()).close()
        #expect(try StoredJournal(at: scratch.path).salvage(into: target.path) { Issue.record("\($0)") } == 2)
        #expect(try await Self.lengths(of: target) == [1, 2])
    }
}
