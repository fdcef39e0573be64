/// What a segment begins with: whose it is, where it stands among the others, and where the one before it ends.
///
/// It lies alone in the segment's first ``byteCount`` bytes, so that no later write touches its sector.
package struct SegmentHead: Sendable, Hashable {
    /// How much of a segment is kept free for it.
    package static let byteCount = 4_096
    /// The format that this version writes; it reads no later one.
    package static let version: UInt32 = 1
    /// The smallest segment that a journal has.
    package static let smallestSegment = 64 << 10
    /// The largest segment that a journal has, far below what the length of a record can say.
    package static let largestSegment = 128 << 20

    /// `evjourn1` in the file.
    static let mark = UInt64(littleEndian: 0x316E_7275_6F6A_7665)
    static let encodedBytes = 72

    /// A random number, the same in all segments of a journal.
    package let journal: UInt64
    /// Counts the segments of a journal, from 1.
    package let number: UInt64
    /// How many bytes the segment has room for, with this head.
    package let segmentBytes: Int
    /// The position that the segment's first event has, or will have.
    package let firstPosition: UInt64
    /// When it was begun, in nanoseconds since 1970-01-01 00:00 UTC.
    package let begunAt: UInt64
    /// Where the records of the segment before it end; 0 for the first of all.
    package let previousEnd: Int

    package init(
        journal: UInt64,
        number: UInt64,
        segmentBytes: Int,
        firstPosition: UInt64,
        begunAt: UInt64,
        previousEnd: Int
    ) {
        self.journal = journal
        self.number = number
        self.segmentBytes = segmentBytes
        self.firstPosition = firstPosition
        self.begunAt = begunAt
        self.previousEnd = previousEnd
    }

    /// What the first bytes of a segment say.
    package enum Reading: Sendable, Hashable {
        case head(SegmentHead)
        /// The segment was made ahead, and nothing was written to it yet; if something lies behind, the head is gone.
        case unused
        /// The head is damaged, and the records behind it may be there; why, as the end of a sentence.
        case damaged(String)
        /// Why the segment cannot be read, as the end of a sentence.
        case unreadable(String)
    }

    /// Reads the beginning of a segment, of which nothing is believed.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
        guard bytes.count >= byteCount else {
            // A file whose content a power cut has taken, or kept from being written.
            if bytes.isZero { return .unused }
            return .unreadable("it has \(bytes.count) bytes, which is less than a head")
        }
        let mark = bytes.number(at: 0, as: UInt64.self)
        // The mark is stored last: without it the segment was not begun, whatever else stands there.
        if mark == 0 { return .unused }
        guard mark == self.mark else { return .damaged("it does not begin as a segment does") }
        let version = bytes.number(at: 8, as: UInt32.self)
        let checksum = Checksum.crc32c(UnsafeRawBufferPointer(rebasing: bytes[..<(encodedBytes - 4)]))
        let isSound = checksum == bytes.number(at: encodedBytes - 4, as: UInt32.self)
        guard isSound else { return .damaged("its head is damaged") }
        guard version == Self.version else {
            return .unreadable("it has version \(version) of the format; this program reads version \(Self.version)")
        }
        guard let segmentBytes = Int(exactly: bytes.number(at: 32, as: UInt64.self)),
            (smallestSegment...largestSegment).contains(segmentBytes), segmentBytes % 8 == 0,
            let previousEnd = Int(exactly: bytes.number(at: 56, as: UInt64.self)), previousEnd <= largestSegment,
            bytes.number(at: 24, as: UInt64.self) > 0, bytes.number(at: 40, as: UInt64.self) > 0
        else { return .unreadable("its head has impossible numbers") }
        return .head(
            SegmentHead(
                journal: bytes.number(at: 16),
                number: bytes.number(at: 24),
                segmentBytes: segmentBytes,
                firstPosition: bytes.number(at: 40),
                begunAt: bytes.number(at: 48),
                previousEnd: previousEnd
            )
        )
    }

    /// The head's bytes, without the mark that says that it is whole.
    package var encodedWithoutMark: [UInt8] {
        var result = [UInt8](repeating: 0, count: Self.encodedBytes)
        result.withUnsafeMutableBytes { bytes in
            bytes.store(Self.mark, at: 0)
            bytes.store(Self.version, at: 8)
            bytes.store(journal, at: 16)
            bytes.store(number, at: 24)
            bytes.store(UInt64(segmentBytes), at: 32)
            bytes.store(firstPosition, at: 40)
            bytes.store(begunAt, at: 48)
            bytes.store(UInt64(previousEnd), at: 56)
            let covered = UnsafeRawBufferPointer(rebasing: bytes[..<(Self.encodedBytes - 4)])
            bytes.store(Checksum.crc32c(covered), at: Self.encodedBytes - 4)
            bytes.store(UInt64(0), at: 0)
        }
        return result
    }

    /// The first eight bytes, written when the rest is there.
    package static var encodedMark: UInt64 { mark.littleEndian }

    /// What the checksums of this segment's records begin with: an old record in a segment that is used again, or in
    /// another journal, does not pass for one of it.
    package var seed: UInt32 { Checksum.crc32c(of: journal, number) }
}
