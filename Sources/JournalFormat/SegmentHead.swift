/// The beginning of a segment: its journal, its number and position, and where the previous segment ends.
///
/// The head lies alone in the segment's first ``byteCount`` bytes, so that no later write touches its sector.
package struct SegmentHead: Sendable, Hashable {
    /// How many bytes at the beginning of a segment are kept for the head.
    package static let byteCount = 4_096
    /// The version of the format that this code writes; this code reads no later version.
    package static let version: UInt32 = 3
    /// The smallest size of a segment, in bytes.
    package static let smallestSegment = 64 << 10
    /// The largest size of a segment, in bytes; about half of the greatest length that a record can state.
    package static let largestSegment = 128 << 20

    /// The first bytes of a segment: `evjourn1`.
    static let mark = UInt64(littleEndian: 0x316E_7275_6F6A_7665)
    static let encodedBytes = 80
    /// Where the checksum lies in the heads of versions 1 and 2.
    private static let formerChecksum = 68
    /// The bit that says that some events or notes before the segment were not safe when it was begun.
    private static let begunUnsafe: UInt32 = 1
    /// The greatest number that the bits beside ``begunUnsafe`` can state.
    private static let mostUnsafe: UInt64 = 0x7fff_ffff

    /// A random number, the same in all segments of a journal.
    package let journal: UInt64
    /// The segment's number in the journal, from 1.
    package let number: UInt64
    /// The size of the segment in bytes, including this head.
    package let segmentBytes: Int
    /// The position that the segment's first event has, or will have.
    package let firstPosition: UInt64
    /// When the segment was begun, in nanoseconds since 1970-01-01 00:00 UTC.
    package let begunAt: UInt64
    /// Where the records of the previous segment end; 0 for a journal's first segment.
    package let previousEnd: Int
    /// The length of the record of bookmarks with which the segment begins; 0 if there were no bookmarks before it.
    package let bookmarkBytes: Int
    /// How many segments before this one had events or notes that were not safe when this one was begun; nil if that is
    /// unknown.
    ///
    /// With `durability: .machine`, a power cut may have taken something from these segments, but from no earlier one.
    package let unsafeSegments: UInt64?
    /// The position of the oldest event before the segment that was owed or kept as a dead letter when the segment was
    /// begun; 0 if there was none.
    ///
    /// Like the bookmarks, it proves nothing if a power cut may have taken something before the segment.
    package let owedFrom: UInt64

    package init(
        journal: UInt64,
        number: UInt64,
        segmentBytes: Int,
        firstPosition: UInt64,
        begunAt: UInt64,
        previousEnd: Int,
        bookmarkBytes: Int = 0,
        unsafeSegments: UInt64? = 0,
        owedFrom: UInt64 = 0
    ) {
        self.journal = journal
        self.number = number
        self.segmentBytes = segmentBytes
        self.firstPosition = firstPosition
        self.begunAt = begunAt
        self.previousEnd = previousEnd
        self.bookmarkBytes = bookmarkBytes
        self.unsafeSegments = unsafeSegments
        self.owedFrom = owedFrom
    }

    /// What the first bytes of a segment say.
    package enum Reading: Sendable, Hashable {
        case head(SegmentHead)
        /// The segment was made ahead and not begun yet; if the file has other bytes than zeros, its head is lost.
        case unused
        /// The head is damaged, but the records after it may be there. The text says why, as the end of a sentence.
        case damaged(String)
        /// The segment cannot be read. The text says why, as the end of a sentence.
        case unreadable(String)
    }

    /// Reads the beginning of a segment, and trusts none of its bytes.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
        guard bytes.count >= byteCount else {
            // After a power cut, the bytes of a file may be missing or zero.
            if bytes.isZero { return .unused }
            return .unreadable("it has \(bytes.count) bytes, fewer than a head")
        }
        let mark = bytes.number(at: 0, as: UInt64.self)
        // The mark is stored last: without it, the segment was not begun, or its head is lost.
        if mark == 0 { return .unused }
        guard mark == self.mark else { return .damaged("it does not begin as a segment does") }
        let version = bytes.number(at: 8, as: UInt32.self)
        let end = version < 3 ? formerChecksum : encodedBytes - 4
        let checksum = Checksum.crc32c(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
        let isSound = checksum == bytes.number(at: end, as: UInt32.self)
        guard isSound else { return .damaged("its head is damaged") }
        guard (1...Self.version).contains(version) else {
            return .unreadable(
                "it has version \(version) of the format; this program reads versions 1 to \(Self.version)"
            )
        }
        guard let segmentBytes = Int(exactly: bytes.number(at: 32, as: UInt64.self)),
            (smallestSegment...largestSegment).contains(segmentBytes), segmentBytes % 8 == 0,
            let previousEnd = Int(exactly: bytes.number(at: 56, as: UInt64.self)), previousEnd <= largestSegment,
            bytes.number(at: 24, as: UInt64.self) > 0, bytes.number(at: 40, as: UInt64.self) > 0,
            version < 3 || bytes.number(at: 68, as: UInt64.self) < bytes.number(at: 40, as: UInt64.self)
        else { return .unreadable("its head has impossible numbers") }
        let number = bytes.number(at: 24, as: UInt64.self)
        return .head(
            SegmentHead(
                journal: bytes.number(at: 16),
                number: number,
                segmentBytes: segmentBytes,
                firstPosition: bytes.number(at: 40),
                begunAt: bytes.number(at: 48),
                previousEnd: previousEnd,
                // Version 1 has no bookmarks, and zeros here.
                bookmarkBytes: Int(bytes.number(at: 64, as: UInt32.self)),
                unsafeSegments: unsafeSegments(before: number, bytes.number(at: 12)),
                owedFrom: version < 3 ? 0 : bytes.number(at: 68)
            )
        )
    }

    /// What the number at offset 12 says; its upper bits are 0 if they say nothing.
    private static func unsafeSegments(before number: UInt64, _ stored: UInt32) -> UInt64? {
        if stored & begunUnsafe == 0 { return 0 }
        let count = UInt64(stored >> 1)
        return count > 0 && count < number ? count : nil
    }

    /// The number at offset 12.
    private var storedSafety: UInt32 {
        guard let unsafeSegments, unsafeSegments <= Self.mostUnsafe else { return Self.begunUnsafe }
        return unsafeSegments == 0 ? 0 : Self.begunUnsafe | UInt32(unsafeSegments) << 1
    }

    /// The head's bytes, without the mark that says that the head is complete.
    package var encodedWithoutMark: [UInt8] {
        var result = [UInt8](repeating: 0, count: Self.encodedBytes)
        result.withUnsafeMutableBytes { bytes in
            bytes.store(Self.mark, at: 0)
            bytes.store(Self.version, at: 8)
            bytes.store(storedSafety, at: 12)
            bytes.store(journal, at: 16)
            bytes.store(number, at: 24)
            bytes.store(UInt64(segmentBytes), at: 32)
            bytes.store(firstPosition, at: 40)
            bytes.store(begunAt, at: 48)
            bytes.store(UInt64(previousEnd), at: 56)
            bytes.store(UInt32(clamping: bookmarkBytes), at: 64)
            bytes.store(owedFrom, at: 68)
            let covered = UnsafeRawBufferPointer(rebasing: bytes[..<(Self.encodedBytes - 4)])
            bytes.store(Checksum.crc32c(covered), at: Self.encodedBytes - 4)
            bytes.store(UInt64(0), at: 0)
        }
        return result
    }

    /// The first eight bytes of the head, which are written after the others.
    package static var encodedMark: UInt64 { mark.littleEndian }

    /// The seed of the checksums of this segment's records; because of it, a reader does not take an old record from
    /// another segment or journal for one of this segment.
    package var seed: UInt32 { Checksum.crc32c(of: journal, number) }
}
