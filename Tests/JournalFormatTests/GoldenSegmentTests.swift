import DomainEvents
import Testing

@testable import JournalFormat

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Segments that another program has made by `docs/reference/journal-format.md`; they never change.
@Suite("Golden segments")
struct GoldenSegmentTests {
    private static func bytes(_ name: String) throws -> [UInt8] {
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return Array(try Data(contentsOf: root.appending(path: "Fixtures/Journal").appending(path: name)))
    }

    private static let traceparent = Traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

    private static let events: [(name: String, context: EventContext, payload: [UInt8])] = {
        let first = EventID(origin: "host", incarnation: 0xABCD, number: 1)
        return [
            (
                "BoxProvisioned", EventContext(id: first, nanosecondsSinceEpoch: 1_700_000_000_000_000_001),
                [0xA1, 0x65, 0x62, 0x6F, 0x78, 0x49, 0x44, 0x07]
            ),
            (
                "CanvasSaved",
                EventContext(
                    id: EventID(origin: "größe", incarnation: .max, number: 2),
                    nanosecondsSinceEpoch: 1_700_000_000_000_000_002,
                    attempt: 3,
                    cause: first
                ),
                []
            ),
            (
                "CanvasSaved",
                EventContext(
                    id: EventID(origin: "canvas", incarnation: 5, number: 3),
                    nanosecondsSinceEpoch: 1_700_000_000_000_000_003,
                    cause: first,
                    root: EventID(origin: "client", incarnation: 6, number: 9),
                    traceparent: traceparent
                ),
                [0xA0]
            ),
        ]
    }()

    /// Events with bookmarks, which only version 2 has.
    private static let marked: [(name: String, context: EventContext, payload: [UInt8])] = [
        (
            "BoxRead",
            EventContext(
                id: EventID(origin: "importer", incarnation: 7, number: 4),
                nanosecondsSinceEpoch: 1_700_000_000_000_000_004,
                bookmark: WorkerBookmark(EventBookmark("18"), of: "importer")
            ),
            [0xA0]
        ),
        (
            "BoxRead",
            EventContext(
                id: EventID(origin: "berlin", incarnation: 8, number: 5),
                nanosecondsSinceEpoch: 1_700_000_000_000_000_005,
                bookmark: WorkerBookmark(EventBookmark([]), of: "importer")
            ),
            [0xA0]
        ),
    ]

    private static let table: BookmarkTable = {
        var table = BookmarkTable()
        table.note([0xFF, 0], of: "importer", at: 39)
        table.note(Array("17".utf8), of: "canvas", at: 40)
        return table
    }()

    /// An event that is owed to receivers, and notes of what became of events, which only version 3 has.
    private static let owed: [OwedReceiver] = [
        OwedReceiver(name: "canvas", isSpecified: true), OwedReceiver(name: "renderers", isSpecified: false),
    ]
    private static let requested = (
        name: "BoxRequested",
        context: EventContext(
            id: EventID(origin: "host", incarnation: 0xABCD, number: 6),
            nanosecondsSinceEpoch: 1_700_000_000_000_000_006
        ),
        payload: [0xA0] as [UInt8]
    )
    private static let notes: [CustodyNote] = {
        let id = requested.context.id
        let member = NotedReceiver(name: "renderers-2", pool: "renderers")
        return [
            .settled(source: id.source, ranges: [1...1, 6...6], by: NotedReceiver(name: "canvas")),
            .strike(id, at: member, reason: "sie stürzte ab"),
            .letter(
                NotedLetter(
                    event: id,
                    receiver: member,
                    number: 3,
                    cause: .refused,
                    reasons: ["sie stürzte ab", "no room"],
                    strikes: 1,
                    attempts: 2,
                    nanosecondsSinceEpoch: 1_700_000_000_000_000_007
                )
            ),
            .letterGone(id, of: member, isOwedAgain: true),
            .letterGone(id, of: member, isOwedAgain: false),
            .hostStarted(incarnation: 0x1234),
        ]
    }()

    private static func head(bookmarkBytes: Int, owedFrom: UInt64 = 0) -> SegmentHead {
        SegmentHead(
            journal: 0x0123_4567_89AB_CDEF,
            number: 2,
            segmentBytes: 64 << 10,
            firstPosition: 41,
            begunAt: 1_700_000_000_000_000_000,
            previousEnd: 5_000,
            bookmarkBytes: bookmarkBytes,
            owedFrom: owedFrom
        )
    }

    @Test("J18: segments of version 1, of version 2 with bookmarks and of version 3 with notes are what they were")
    func read() throws {
        for (name, events, table, owedFrom, notes) in [
            ("closed.segment", Self.events, BookmarkTable(), UInt64(0), [CustodyNote]()),
            ("bookmarks.segment", Self.events + Self.marked, Self.table, 0, []),
            ("owed.segment", Self.events + Self.marked + [Self.requested], Self.table, 17, Self.notes),
        ] {
            let bytes = try Self.bytes(name)
            let head = Self.head(bookmarkBytes: table.recordBytes, owedFrom: owedFrom)
            #expect(bytes.withUnsafeBytes(SegmentHead.read) == .head(head))
            let reading = SegmentReading(bytes)
            #expect(reading.end == .closed)
            #expect(!reading.isReported)
            #expect(reading.tables == (table.isEmpty ? [] : [table]))
            #expect(reading.notes == notes)
            #expect(reading.owed == (notes.isEmpty ? [] : [Self.owed]))
            let expected = events.enumerated().map { index, event in
                SegmentFixture.Event(
                    position: 41 + UInt64(index),
                    name: event.name,
                    context: "\(event.context)",
                    payload: event.payload
                )
            }
            #expect(reading.events == expected)
        }
    }

    @Test("The same events, bookmarks and notes are written as the same bytes")
    func written() throws {
        let fixed = Self.head(bookmarkBytes: Self.table.recordBytes, owedFrom: 17)
        var bytes = [UInt8](repeating: 0, count: 8_192)
        var offset = SegmentHead.byteCount
        var head = fixed.encodedWithoutMark
        withUnsafeBytes(of: SegmentHead.encodedMark) { head.replaceSubrange(..<8, with: $0) }
        bytes.replaceSubrange(..<head.count, with: head)
        try bytes.withUnsafeMutableBytes { bytes in
            func place(_ byteCount: Int, _ write: (UnsafeMutableRawBufferPointer) -> UInt32) {
                let target = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<(offset + byteCount)])
                target.storeBytes(of: write(target), as: UInt32.self)
            }
            place(Self.table.recordBytes) { Self.table.write(position: 40, into: $0, seed: fixed.seed, at: offset) }
            offset += Self.table.stride
            for (index, event) in (Self.events + Self.marked + [Self.requested]).enumerated() {
                offset += try event.context.withBorrowed { context in
                    let owed = index == 5 ? Self.owed : []
                    let record = try EventRecord(
                        name: event.name,
                        context: context,
                        owed: owed,
                        payloadBytes: event.payload.count
                    )
                    place(record.byteCount) { target in
                        event.payload.withUnsafeBytes { payload in
                            record.write(
                                payload,
                                position: 41 + UInt64(index),
                                name: event.name,
                                context: context,
                                owed: owed,
                                into: target,
                                seed: fixed.seed,
                                at: offset
                            )
                        }
                    }
                    return record.stride
                }
            }
            for note in Self.notes {
                let note = NoteRecord(note)
                place(note.byteCount) { note.write(position: 46, into: $0, seed: fixed.seed, at: offset) }
                offset += note.stride
            }
            place(EndRecord.byteCount) { target in
                EndRecord.write(
                    position: 46,
                    time: 1_700_000_000_000_000_009,
                    into: target,
                    seed: fixed.seed,
                    at: offset
                )
            }
        }
        #expect(Array(bytes[..<(offset + EndRecord.byteCount)]) == (try Self.bytes("owed.segment")))
    }
}
