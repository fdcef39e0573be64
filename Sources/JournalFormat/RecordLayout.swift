/// The layout of a record.
///
/// A record begins at a multiple of 8 bytes. In a mapped file, its first word, which is its length, is stored last, so
/// a killed process leaves a whole record or none. The checksum covers the segment's seed, the record's offset and
/// length, and all bytes after the checksum itself.
enum RecordLayout {
    /// The length of a record's fixed part, in bytes.
    static let headBytes = 48

    static let length = 0
    static let checksum = 4
    static let kind = 8
    static let flags = 9
    static let nameBytes = 10
    static let originBytes = 12
    static let attempt = 14
    static let position = 16
    static let time = 24
    static let number = 32
    static let incarnation = 40

    /// The upper bits of every length; with them, one flipped bit cannot turn a length into 0, the end of the records.
    static let lengthMark: UInt32 = 0xA000_0000
    static let lengthMask: UInt32 = 0x0FFF_FFFF

    static let hasCause: UInt8 = 1
    static let hasRoot: UInt8 = 2
    static let hasTraceparent: UInt8 = 4
    static let isOwed: UInt8 = 8
    static let hasBookmark: UInt8 = 32
    static let allFlags: UInt8 = 47

    /// How many bytes of a cause or a root come before its origin: incarnation, number, and the length of the origin.
    static let identityBytes = 18
    /// Where in a cause or a root its number lies: after the incarnation.
    static let identityNumber = 8
    /// The length of every traceparent's text, in bytes.
    static let traceparentBytes = 55
    /// How many bytes of a bookmark come before its texts: the lengths of the worker's name and of the bookmark.
    static let bookmarkHeadBytes = 4
    /// How many bytes come before the first of the receivers that an event is owed to: the number of receivers.
    static let owedHeadBytes = 2
    /// How many bytes of such a receiver come before its name: a flag, and the length of the name.
    static let receiverHeadBytes = 3
    /// How many bytes come before a text of a note: the length of the text.
    static let textHeadBytes = 2
    /// The length of a range of settled events, in bytes: its first number, and its last.
    static let rangeBytes = 16

    enum Kind: UInt8 {
        case event = 1
        /// The journal was closed here, or was recovered up to here: no record follows.
        case end = 2
        /// The last bookmark of each worker, up to here.
        case bookmarks = 3
        /// A receiver has settled events.
        case settled = 4
        /// An event got a strike: its receiver crashed, hung or broke the protocol.
        case strike = 5
        /// An event became a dead letter.
        case letter = 6
        /// A dead letter's event is owed again, or was thrown away.
        case letterGone = 7
        /// A host has started, and has taken over all that is owed.
        case hostStarted = 8

        /// Whether the record says what became of events.
        var isNote: Bool { rawValue >= Self.settled.rawValue }
    }

    /// The distance from the beginning of a record of this length to the next record, in bytes.
    static func next(after byteCount: Int) -> Int { (byteCount + 7) & ~7 }

    /// Stores the checksum, and returns the value of the length field.
    @inline(__always)
    static func sealed(_ record: UnsafeMutableRawBufferPointer, seed: UInt32, at offset: Int) -> UInt32 {
        record.store(checksum(UnsafeRawBufferPointer(record), seed: seed, at: offset), at: checksum)
        return (lengthMark | UInt32(clamping: record.count)).littleEndian
    }

    @inline(__always)
    static func checksum(_ record: UnsafeRawBufferPointer, seed: UInt32, at offset: Int) -> UInt32 {
        let covered = UnsafeRawBufferPointer(rebasing: record[kind...])
        return Checksum.crc32c(of: UInt64(offset), UInt64(record.count), covered, after: seed)
    }

    /// The checksum of ``checksum(_:seed:at:)``, computed with the block checksums of a search.
    static func checksum(
        _ record: UnsafeRawBufferPointer,
        seed: UInt32,
        at offset: Int,
        knowing sums: inout BlockChecksums
    ) -> UInt32 {
        let covered = UnsafeRawBufferPointer(rebasing: record[kind...])
        let before = Checksum.crc32c(of: UInt64(offset), UInt64(record.count), after: seed)
        return sums.checksum(covered, at: offset + kind, after: before)
    }
}
