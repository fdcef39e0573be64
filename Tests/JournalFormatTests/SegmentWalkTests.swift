import CBridgePlatform
import DomainEvents
import TestSupport
import Testing

@testable import JournalFormat

@Suite("Segments")
struct SegmentWalkTests {
    @Test("What was written is read again, in windows of any length", arguments: [48, 49, 64, 100, 4_096, Int.max])
    func roundTrip(window: Int) throws {
        let segment = try SegmentFixture.made()
        let reading = SegmentReading(segment.bytes, window: window)
        #expect(reading.events == segment.events)
        #expect(reading.end == .open)
        #expect(!reading.isReported)
        let closed = try SegmentFixture.made(closed: true)
        #expect(SegmentReading(closed.bytes, window: window).end == .closed)
        #expect(!SegmentReading(closed.bytes, window: window).isReported)
    }

    @Test("Records in a row share their source; another incarnation or spelling makes another source and name")
    func sharedSources() throws {
        // The letter é in one scalar, and in two.
        let origins: [(origin: String, incarnation: UInt64)] = [
            ("\u{E9}", 1), ("\u{E9}", 1), ("\u{E9}", 2), ("e\u{301}", 2), ("e\u{301}", 2), ("", 2), ("", 2),
        ]
        var segment = SegmentFixture()
        for (number, (origin, incarnation)) in zip(UInt64(1)..., origins) {
            let id = EventID(origin: origin, incarnation: incarnation, number: number)
            let context = EventContext(id: id, nanosecondsSinceEpoch: number)
            try segment.append(payload: [], name: origin, context: context)
        }
        let reading = SegmentReading(segment.bytes)
        #expect(reading.events == segment.events)
        let texts = origins.map { Array($0.origin.utf8) }
        #expect(reading.events.map { Array($0.name.utf8) } == texts)
        #expect(reading.sources.map { Array($0.origin.utf8) } == texts)
        let areShared = zip(reading.sources, reading.sources.dropFirst()).map { $0 === $1 }
        #expect(areShared == [true, false, false, true, false, true])
    }

    @Test("A head is read as it was written")
    func head() throws {
        let segment = SegmentFixture()
        #expect(segment.bytes.withUnsafeBytes(SegmentHead.read) == .head(segment.head))
    }

    @Test("A segment of which only the head without its mark was written is unused")
    func unfinishedHead() throws {
        let segment = SegmentFixture()
        var bytes = [UInt8](repeating: 0, count: SegmentHead.byteCount)
        bytes.replaceSubrange(..<SegmentHead.encodedBytes, with: segment.head.encodedWithoutMark)
        #expect(bytes.withUnsafeBytes(SegmentHead.read) == .unused)
    }

    @Test("J18: a segment of a later version is refused by name")
    func laterVersion() throws {
        var bytes = SegmentFixture().bytes
        bytes[8] = 4
        bytes.withUnsafeMutableBytes { bytes in
            let covered = UnsafeRawBufferPointer(rebasing: bytes[..<(SegmentHead.encodedBytes - 4)])
            bytes.store(Checksum.crc32c(covered), at: SegmentHead.encodedBytes - 4)
        }
        let expected = "it has version 4 of the format; this program reads versions 1 to 3"
        #expect(bytes.withUnsafeBytes(SegmentHead.read) == .unreadable(expected))
    }

    @Test("J3: with any bit flipped, a segment is read whole and equal, or it is reported", .timeLimit(.minutes(10)))
    func flippedBits() throws {
        var random = SeededGenerator.announced()
        for closed in [false, true] {
            let segment = try SegmentFixture.made(closed: closed)
            // After the records there are only zeros; some of them are enough.
            let byteCount = min(segment.bytes.count, segment.end + 64)
            var (equal, reported) = (0, 0)
            var bytes = segment.bytes
            for bit in share(of: Array(0..<(byteCount * 8)), using: &random) {
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                let reading = SegmentReading(bytes, searched: byteCount)
                if reading.isReported {
                    reported += 1
                    // Events that are read all the same are as they were written.
                    #expect(reading.events.allSatisfy(segment.events.contains), "bit \(bit)")
                } else {
                    equal += 1
                    #expect(reading.events == segment.events, "bit \(bit)")
                }
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            }
            // Of the bits of the records at least seven eighths.
            let records = segment.end - SegmentHead.byteCount
            #expect(equal > 0 && reported * 8 * byteCount > 7 * records * (equal + reported))
        }
    }

    @Test("J3: cut at any byte, a segment is reported, and what is read is a beginning of it", .timeLimit(.minutes(10)))
    func truncations() throws {
        for closed in [false, true] {
            let segment = try SegmentFixture.made(closed: closed)
            for length in 0..<segment.bytes.count where length < segment.end + 64 || length % 997 == 0 {
                let reading = SegmentReading(Array(segment.bytes[..<length]))
                #expect(reading.isReported, "\(length) bytes")
                #expect(reading.events.elementsEqual(segment.events.prefix(reading.events.count)), "\(length) bytes")
            }
        }
    }

    @Test("J3: a record torn at any byte ends the segment, and the events before it are read", .timeLimit(.minutes(5)))
    func tornRecords() throws {
        let segment = try SegmentFixture.made()
        let last = segment.offsets[segment.offsets.count - 1]
        for cut in (last + 1)..<segment.end {
            var bytes = segment.bytes
            for index in cut..<segment.end { bytes[index] = 0 }
            let reading = SegmentReading(bytes)
            // The cut may have removed only padding or zeros.
            if bytes == segment.bytes || reading.events == segment.events { continue }
            #expect(reading.events == segment.events.dropLast(), "cut at \(cut)")
            // The zeros behind what is left of the record do not count.
            let tornEnd = (bytes.lastIndex { $0 != 0 } ?? last) + 1
            #expect(reading.end == .torn(byteCount: tornEnd - last), "cut at \(cut)")
        }
    }

    @Test("J4: a hole is told with place and count, and what lies behind it is read", arguments: [true, false])
    func hole(isZero: Bool) throws {
        let segment = try SegmentFixture.made()
        var bytes = segment.bytes
        for index in segment.offsets[1]..<segment.offsets[3] { bytes[index] = isZero ? 0 : 0xEE }
        let reading = SegmentReading(bytes, window: 64)
        let events = segment.events
        #expect(reading.events == [events[0]] + events[3...])
        let damage = SegmentDamage(
            offset: segment.offsets[1],
            byteCount: segment.offsets[3] - segment.offsets[1],
            missing: events[1].position..<events[3].position
        )
        #expect(reading.damages == [damage])
    }

    @Test("J4: a later record without the earlier one is never joined in silence")
    func missingPositions() throws {
        var segment = SegmentFixture()
        try segment.append(payload: [1])
        try segment.append(payload: [2], position: 44)
        let reading = SegmentReading(segment.bytes)
        #expect(reading.events.map(\.position) == [41, 44])
        #expect(reading.damages == [SegmentDamage(offset: segment.offsets[1], byteCount: 0, missing: 42..<44)])
    }

    @Test("The old records of a segment that is used again do not pass, nor those of another journal, nor moved ones")
    func oldRecords() throws {
        let old = try SegmentFixture.made()
        for other in [SegmentFixture(number: 4, firstPosition: 1), SegmentFixture(journal: 8, firstPosition: 1)] {
            var bytes = other.bytes
            bytes.replaceSubrange(SegmentHead.byteCount..., with: old.bytes[SegmentHead.byteCount...])
            let reading = SegmentReading(bytes)
            #expect(reading.events.isEmpty)
            #expect(reading.isReported)
        }
        var moved = SegmentFixture().bytes
        let begin = SegmentHead.byteCount
        moved.replaceSubrange((begin + 8)..., with: old.bytes[begin...].dropLast(8))
        #expect(SegmentReading(moved).events.isEmpty)
    }

    @Test("Names, origins and payloads beyond the format are refused before they are written")
    func tooLong() throws {
        let context = SegmentFixture.context(1)
        let name = String(repeating: "n", count: EventRecord.longestText + 1)
        #expect(throws: EventRecord.Mistake.self) {
            try context.withBorrowed { try EventRecord(name: name, context: $0, payloadBytes: 0) }
        }
        #expect(throws: EventRecord.Mistake.self) {
            try context.withBorrowed { try EventRecord(name: "n", context: $0, payloadBytes: .max) }
        }
    }

    @Test("A record that claims the largest position is none: no event could follow it", .timeLimit(.minutes(1)))
    func largestPosition() throws {
        var segment = SegmentFixture()
        try segment.append(payload: [1], position: .max)
        try segment.append(payload: [2], position: .max - 1)
        let reading = SegmentReading(segment.bytes)
        #expect(reading.events.map(\.position) == [.max - 1])
        #expect(reading.damages.count == 1)
    }

    @Test("zeros at the front are counted up to the first other byte, wherever they begin and end")
    func leadingZeros() {
        for count in 0...40 {
            for begin in 0..<8 where begin <= count {
                for other in begin...count {
                    var bytes = [UInt8](repeating: 1, count: begin) + [UInt8](repeating: 0, count: count - begin)
                    if other < count { bytes[other] = 0x80 }
                    let zeros = bytes.withUnsafeBytes { bytes -> Int in
                        guard let start = bytes.baseAddress else { return 0 }
                        return cbp_leading_zeros(start + begin, count - begin)
                    }
                    #expect(zeros == other - begin)
                }
            }
        }
    }
}
