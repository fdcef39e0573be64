import DomainEvents
import TestSupport
import Testing

@testable import JournalFormat

@Suite("Notes in a segment")
struct NoteRecordTests {
    private static let id = EventID(origin: "host", incarnation: 9, number: 41)
    private static let member = NotedReceiver(name: "größe-2", pool: "größe")

    private static func made() throws -> SegmentFixture {
        var segment = SegmentFixture()
        let owed = [OwedReceiver(name: "größe", isSpecified: true), OwedReceiver(name: "viewer", isSpecified: false)]
        try segment.append(payload: [0xA0], context: .init(id: id, nanosecondsSinceEpoch: 1), owed: owed)
        segment.append(.strike(id, at: member, reason: "it ended with status 9"))
        segment.append(
            .letter(
                NotedLetter(
                    event: id,
                    receiver: member,
                    number: 7,
                    cause: .crashes,
                    reasons: ["one", ""],
                    strikes: 2,
                    attempts: 3,
                    nanosecondsSinceEpoch: 5
                )
            )
        )
        segment.append(.letterGone(id, of: member, isOwedAgain: true))
        segment.append(.settled(source: id.source, ranges: [40...41, 50...50], by: NotedReceiver(name: "viewer")))
        segment.append(.hostStarted(incarnation: 10))
        return segment
    }

    @Test(
        "Whichever bit is flipped, a note is read as it was or not at all, and that is reported",
        .timeLimit(.minutes(5))
    )
    func flips() throws {
        let segment = try Self.made()
        let before = SegmentReading(segment.bytes, searched: segment.end + 64)
        #expect(before.notes == segment.notes && before.owed.count == 1 && !before.isReported)
        var random = SeededGenerator.announced()
        for offset in share(of: Array(SegmentHead.byteCount..<segment.end), using: &random) {
            for bit in 0..<8 {
                var bytes = segment.bytes
                bytes[offset] ^= 1 << UInt8(bit)
                let reading = SegmentReading(bytes, searched: segment.end + 64)
                #expect(reading.notes.allSatisfy(before.notes.contains))
                #expect(reading.owed.allSatisfy { $0 == before.owed[0] })
                let isWhole = reading.notes == before.notes && reading.owed == before.owed
                #expect(isWhole || reading.isReported, "byte \(offset), bit \(bit)")
            }
        }
    }

    @Test("Wherever a segment is cut, a note is there as a whole or not at all")
    func cuts() throws {
        let segment = try Self.made()
        for end in SegmentHead.byteCount...segment.end {
            let reading = SegmentReading(Array(segment.bytes[..<end]))
            #expect(reading.notes == Array(segment.notes.prefix(reading.notes.count)))
            #expect(reading.isReported)
        }
    }

    @Test("A note that is too long is shortened between two characters, and stays a note")
    func long() {
        let text = String(repeating: "ü", count: 3_000)
        func read(_ note: CustodyNote) -> [CustodyNote?] {
            var segment = SegmentFixture()
            segment.append(note)
            return SegmentReading(segment.bytes).notes
        }
        let short = String(repeating: "ü", count: NoteRecord.longestText / 2)
        #expect(
            read(.strike(Self.id, at: Self.member, reason: text))
                == [.strike(Self.id, at: Self.member, reason: short)]
        )
        let ranges = (0..<3_000 as Range<UInt64>).map { $0 * 2...$0 * 2 }
        #expect(
            read(.settled(source: Self.id.source, ranges: ranges, by: Self.member))
                == [
                    .settled(
                        source: Self.id.source,
                        ranges: Array(ranges.prefix(CustodyNote.mostRanges)),
                        by: Self.member
                    )
                ]
        )
    }

    @Test("Every note has room in the smallest segment, behind the largest table of bookmarks")
    func longest() throws {
        let long = String(repeating: "x", count: 5_000)
        let receiver = NotedReceiver(name: long, pool: long)
        let id = EventID(origin: long, incarnation: 1, number: 1)
        let letter = NotedLetter(
            event: id,
            receiver: receiver,
            number: 1,
            cause: .crashes,
            reasons: (0..<100).map { "\($0) " + long },
            strikes: 90,
            attempts: 100,
            nanosecondsSinceEpoch: 0
        )
        let ranges = (0..<3_000 as Range<UInt64>).map { $0 * 2...$0 * 2 }
        let notes: [CustodyNote] = [
            .settled(source: id.source, ranges: ranges, by: receiver), .strike(id, at: receiver, reason: long),
            .letter(letter), .letterGone(id, of: receiver, isOwedAgain: true), .hostStarted(incarnation: 1),
        ]
        let room = SegmentHead.smallestSegment * 3 / 4 - SegmentHead.byteCount - EndRecord.byteCount
        for note in notes { try #require(NoteRecord(note).stride <= room) }
        var segment = SegmentFixture()
        segment.append(.letter(letter))
        guard case .letter(let read)?? = SegmentReading(segment.bytes).notes.first else {
            Issue.record("no letter")
            return
        }
        // The newest reasons are there; of the strikes, which came first, none is left.
        #expect(read.reasons.last?.hasPrefix("99 ") == true && read.reasons.count > 1 && read.strikes == 0)
    }

    @Test("A letter whose number leaves no room for further letters is no note")
    func letterNumbers() {
        func read(_ number: UInt64) -> [CustodyNote?] {
            let letter = NotedLetter(
                event: Self.id,
                receiver: Self.member,
                number: number,
                cause: .refused,
                reasons: [],
                strikes: 0,
                attempts: 1,
                nanosecondsSinceEpoch: 0
            )
            var segment = SegmentFixture()
            segment.append(.letter(letter))
            return SegmentReading(segment.bytes).notes
        }
        #expect(read(1 << 62).count == 1 && read(1 << 62)[0] != nil)
        #expect(read(1 << 62 + 1) == [nil])
        #expect(read(.max) == [nil])
    }

    @Test("A head says how many segments before it were not safe; a count that leads before the first says nothing")
    func unsafeSegments() {
        for (count, expected) in [(0, 0), (1, 1), (6, 6), (7, nil), (.max, nil), (nil, nil)] as [(UInt64?, UInt64?)] {
            let head = SegmentHead(
                journal: 1,
                number: 7,
                segmentBytes: 64 << 10,
                firstPosition: 41,
                begunAt: 1,
                previousEnd: 5_000,
                unsafeSegments: count
            )
            var bytes = head.encodedWithoutMark
            withUnsafeBytes(of: SegmentHead.encodedMark) { bytes.replaceSubrange(..<8, with: $0) }
            bytes += [UInt8](repeating: 0, count: SegmentHead.byteCount - bytes.count)
            guard case .head(let read) = bytes.withUnsafeBytes({ SegmentHead.read($0) }) else {
                Issue.record("\(String(describing: count))")
                continue
            }
            #expect(read.unsafeSegments == expected)
        }
    }

    @Test("A head may not say that the oldest owed event lies behind it")
    func owedBehind() {
        func reading(owedFrom: UInt64) -> SegmentHead.Reading {
            let head = SegmentHead(
                journal: 1,
                number: 2,
                segmentBytes: 64 << 10,
                firstPosition: 41,
                begunAt: 1,
                previousEnd: 5_000,
                owedFrom: owedFrom
            )
            var bytes = head.encodedWithoutMark
            withUnsafeBytes(of: SegmentHead.encodedMark) { bytes.replaceSubrange(..<8, with: $0) }
            bytes += [UInt8](repeating: 0, count: SegmentHead.byteCount - bytes.count)
            return bytes.withUnsafeBytes { SegmentHead.read($0) }
        }
        for owedFrom in [0, 1, 40] as [UInt64] {
            guard case .head(let head) = reading(owedFrom: owedFrom) else {
                Issue.record("\(owedFrom)")
                continue
            }
            #expect(head.owedFrom == owedFrom)
        }
        for owedFrom in [41, .max] as [UInt64] {
            #expect(reading(owedFrom: owedFrom) == .unreadable("its head has impossible numbers"))
        }
    }
}
