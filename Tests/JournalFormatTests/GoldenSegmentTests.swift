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

    private static let head = SegmentHead(
        journal: 0x0123_4567_89AB_CDEF,
        number: 2,
        segmentBytes: 64 << 10,
        firstPosition: 41,
        begunAt: 1_700_000_000_000_000_000,
        previousEnd: 5_000
    )

    @Test("J18: a segment of version 1 is read as what it was")
    func read() throws {
        let bytes = try Self.bytes("closed.segment")
        #expect(bytes.withUnsafeBytes(SegmentHead.read) == .head(Self.head))
        let reading = SegmentReading(bytes)
        #expect(reading.end == .closed)
        #expect(!reading.isReported)
        let expected = Self.events.enumerated().map { index, event in
            SegmentFixture.Event(
                position: 41 + UInt64(index),
                name: event.name,
                context: "\(event.context)",
                payload: event.payload
            )
        }
        #expect(reading.events == expected)
    }

    @Test("The same events are written as the same bytes")
    func written() throws {
        var bytes = [UInt8](repeating: 0, count: 8_192)
        var offset = SegmentHead.byteCount
        var head = Self.head.encodedWithoutMark
        withUnsafeBytes(of: SegmentHead.encodedMark) { head.replaceSubrange(..<8, with: $0) }
        bytes.replaceSubrange(..<head.count, with: head)
        try bytes.withUnsafeMutableBytes { bytes in
            for (index, event) in Self.events.enumerated() {
                let record = try EventRecord(
                    position: 41 + UInt64(index),
                    name: event.name,
                    context: event.context,
                    payloadBytes: event.payload.count
                )
                let target = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<(offset + record.byteCount)])
                let length = event.payload.withUnsafeBytes {
                    record.write($0, into: target, seed: Self.head.seed, at: offset)
                }
                target.storeBytes(of: length, as: UInt32.self)
                offset += record.stride
            }
            let target = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<(offset + EndRecord.byteCount)])
            let length = EndRecord.write(
                position: 43,
                time: 1_700_000_000_000_000_009,
                into: target,
                seed: Self.head.seed,
                at: offset
            )
            target.storeBytes(of: length, as: UInt32.self)
        }
        #expect(Array(bytes[..<(offset + EndRecord.byteCount)]) == (try Self.bytes("closed.segment")))
    }
}
