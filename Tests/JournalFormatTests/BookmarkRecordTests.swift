import DomainEvents
import TestSupport
import Testing

@testable import JournalFormat

@Suite("Bookmarks in a segment")
struct BookmarkRecordTests {
    /// The golden segment's forms of bookmarks, without other events.
    private static func made() throws -> SegmentFixture {
        var table = BookmarkTable()
        table.note(Array("place".utf8), of: "reader", at: 12)
        table.note([UInt8](repeating: 7, count: BookmarkTable.longestBookmark), of: "importer", at: 40)
        var segment = SegmentFixture(bookmarks: table)
        for (number, worker) in ["importer", "host", "reader"].enumerated() {
            let context = EventContext(
                id: EventID(origin: "importer", incarnation: 3, number: UInt64(number)),
                nanosecondsSinceEpoch: 1_700_000_000_000_000_000,
                cause: number == 1 ? EventID(origin: "canvas", incarnation: 5, number: 9) : nil,
                bookmark: WorkerBookmark(EventBookmark("\(worker) \(number)"), of: worker)
            )
            try segment.append(payload: [0x01, 0x02], context: context)
        }
        return segment
    }

    @Test("J24: whichever bit is flipped, an event is read with its bookmark or not at all", .timeLimit(.minutes(5)))
    func flips() throws {
        let segment = try Self.made()
        let before = SegmentReading(segment.bytes, searched: segment.end + 64)
        #expect(before.events == segment.events && before.tables.count == 1 && !before.isReported)
        var random = SeededGenerator.announced()
        for offset in share(of: Array(SegmentHead.byteCount..<segment.end), using: &random) {
            for bit in 0..<8 {
                var bytes = segment.bytes
                bytes[offset] ^= 1 << UInt8(bit)
                let reading = SegmentReading(bytes, searched: segment.end + 64)
                #expect(reading.events.allSatisfy(segment.events.contains))
                #expect(reading.tables.allSatisfy { $0 == before.tables[0] })
                let isWhole = reading.events == before.events && reading.tables == before.tables
                #expect(isWhole || reading.isReported, "byte \(offset), bit \(bit)")
            }
        }
    }

    @Test("J24: wherever a segment is cut, an event is there with its bookmark or not at all")
    func cuts() throws {
        let segment = try Self.made()
        for end in SegmentHead.byteCount...segment.end {
            let reading = SegmentReading(Array(segment.bytes[..<end]))
            #expect(reading.events == Array(segment.events.prefix(reading.events.count)))
            #expect(reading.isReported)
        }
    }

    @Test("Bookmarks beyond the format are refused before they are written, and none that was written is read")
    func tooLong() {
        let context = EventContext(
            id: EventID(origin: "importer", incarnation: 3, number: 1),
            nanosecondsSinceEpoch: 1,
            bookmark: WorkerBookmark(EventBookmark([UInt8](repeating: 0, count: 257)), of: "importer")
        )
        let mistake = #expect(throws: EventRecord.Mistake.self) {
            try context.withBorrowed { try EventRecord(name: "BoxRead", context: $0, payloadBytes: 0) }
        }
        #expect(mistake?.text == "its bookmark has 257 bytes; 256 are the most")
        let entry: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0x78]
        for bytes in [entry + [UInt8](repeating: 0, count: 257), entry, [1, 2, 3]] {
            #expect(bytes.withUnsafeBytes { BookmarkTable(entries: $0) } == nil)
        }
    }

    @Test("The later of two bookmarks of a worker stays, whichever is noted first")
    func later() {
        var table = BookmarkTable()
        #expect(table.isEmpty && table.recordBytes == 0 && table.stride == 0 && table.longestStride() == 0)
        table.note([1], of: "importer", at: 7)
        table.note([2, 2], of: "importer", at: 6)
        #expect(table["importer"] == .init(position: 7, bookmark: [1]))
        let bytes = table.recordBytes
        table.note([3, 3, 3], of: "importer", at: 8)
        #expect(table["importer"] == .init(position: 8, bookmark: [3, 3, 3]))
        #expect(table.recordBytes == bytes + 2)
        #expect(table.longestStride() >= bytes + 255)
        #expect(table.longestStride(with: "importer") == table.longestStride())
        #expect(table.longestStride(with: "reader") > table.longestStride())
    }
}
