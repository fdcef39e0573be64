import TestSupport
import Testing

@testable import JournalFormat

/// Searches for the next record behind a damaged one whose bytes look like the heads of others.
@Suite("Bytes that look like heads of records")
struct HeadLikeBytesTests {
    /// Eight bytes, repeated: at each multiple of 8 they look like the head of a record of 512 KiB.
    private static let headLike: [UInt8] = [0x01, 0x00, 0x08, 0xA0, 0xFF, 0xFF, 0xFF, 0x7F]

    /// What a walk has found, and what it took.
    private struct Found: Equatable {
        var payloads: [Int] = []
        var damages: [SegmentDamage] = []
        var end: SegmentEnd?
        var bytesSearched = 0
        var bytesAsked = 0

        init(_ bytes: [UInt8], _ head: SegmentHead, window: Int) {
            var walk = SegmentWalk(of: head)
            bytes.withUnsafeBytes { whole in
                var length = window
                while end == nil {
                    let start = min(walk.offset, whole.count)
                    let stop = start + min(length, whole.count - start)
                    length = window
                    switch walk.next(in: UnsafeRawBufferPointer(rebasing: whole[start..<stop]), limit: whole.count) {
                    case .needsBytes(let count):
                        length = max(count, window)
                        bytesAsked += length
                    case .record(let record): payloads.append(record.payload?.count ?? -1)
                    case .damage(let damage): damages.append(damage)
                    case .end(let end): self.end = end
                    case .bookmarks, .note: break
                    }
                }
            }
            bytesSearched = walk.bytesSearched
        }
    }

    @Test(
        "J29: behind damage, a payload that looks like long records costs time in proportion, and no record is lost",
        .timeLimit(.minutes(5)),
        arguments: [4_096, Int.max >> 1],
        [1, 100_000]
    )
    func headLikePayload(window: Int, behind: Int) throws {
        var segment = SegmentFixture(bytes: 2 << 20)
        try segment.append(payload: [1])
        try segment.append(payload: [UInt8](repeating: 2, count: 1 << 20))
        try segment.append(payload: [UInt8](repeating: 3, count: behind))
        var bytes = segment.bytes
        let (begin, end) = (segment.offsets[1], segment.offsets[2])
        bytes.replaceSubrange(begin..<(begin + 4), with: [0, 0, 0, 0])
        let count = (end - begin - 8) / 8
        bytes.replaceSubrange((begin + 8)..<end, with: [[UInt8]](repeating: Self.headLike, count: count).joined())

        let found = Found(bytes, segment.head, window: window)
        #expect(found.payloads == [1, behind])
        #expect(found.damages == [SegmentDamage(offset: begin, byteCount: end - begin, missing: 42..<43)])
        #expect(found.end == .open)
        // At each of the places less than two blocks, and all blocks once.
        let places = (end - begin) / 8
        #expect((1...(places * 2 * BlockChecksums.blockBytes + bytes.count)).contains(found.bytesSearched))
        if window < bytes.count { #expect(found.bytesAsked <= 4 * bytes.count) }
    }

    @Test("Lengths that grow, shrink and change from place to place are asked for in proportion, too")
    func changingLengths() throws {
        var random = SeededGenerator.announced()
        for round in 0..<3 {
            var segment = SegmentFixture(bytes: 1 << 20)
            try segment.append(payload: [UInt8](repeating: 1, count: 800_000))
            try segment.append(payload: [2])
            var bytes = segment.bytes
            let (begin, end) = (segment.offsets[0], segment.offsets[1])
            for offset in stride(from: begin, to: end - 16, by: 16) {
                let passed = offset - begin
                let length =
                    switch round {
                    case 0: 200_000 + passed / 4
                    case 1: 200_000 - passed / 8
                    default: Int.random(in: 48...400_000, using: &random)
                    }
                withUnsafeBytes(of: (0xA000_0000 | UInt32(length)).littleEndian) { word in
                    bytes.replaceSubrange(offset..<(offset + 4), with: word)
                }
                // Kind 1, no optional parts, and short texts; in the head before, the position.
                bytes.replaceSubrange((offset + 4)..<(offset + 16), with: [0, 0, 0, 0x7F, 1, 0, 4, 0, 4, 0, 1, 0])
            }
            let found = Found(bytes, segment.head, window: 4_096)
            #expect(found.payloads == [1])
            #expect(found.damages.map(\.byteCount) == [end - begin])
            #expect(found.bytesSearched > bytes.count / 2, "round \(round)")
            #expect(found.bytesAsked <= 15 * bytes.count, "round \(round)")
        }
    }

    @Test("A part's checksum does not depend on where the blocks begin, and each block is read once")
    func parts() {
        var random = SeededGenerator.announced()
        let bytes = (0..<20_000).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        bytes.withUnsafeBytes { bytes in
            for _ in 0..<50 {
                var offset = Int.random(in: 0..<2_000, using: &random)
                var sums = BlockChecksums(at: offset)
                var parts = 0
                while offset < bytes.count {
                    let longest = Bool.random(using: &random) ? bytes.count : 600
                    let count = Int.random(in: 0...min(longest, bytes.count - offset), using: &random)
                    let part = UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)])
                    let before = UInt32.random(in: .min ... .max, using: &random)
                    #expect(sums.checksum(part, at: offset, after: before) == Checksum.crc32c(part, after: before))
                    offset += Bool.random(using: &random) ? 8 : Int.random(in: 1...1_500, using: &random)
                    parts += 1
                }
                #expect(sums.bytesRead <= parts * 2 * BlockChecksums.blockBytes + bytes.count)
            }
        }
    }
}
