import CBridgePlatform

/// Reads the records of a segment one after the other, from bytes that the caller provides; trusts none of the bytes.
///
/// Where the bytes are not a record, the walk looks for the next record, and reports the damage before it. If no record
/// follows, bytes that begin with a length of 0 count as room that is not used yet. Whatever the bytes are, the time of
/// such a search is linear in the number of unreadable bytes, and so is the number of bytes that it asks for.
package struct SegmentWalk {
    private let seed: UInt32
    /// Where the next record begins; the caller's bytes begin there.
    package private(set) var offset: Int
    /// The position of the next event if no event is missing before it.
    package private(set) var position: UInt64
    /// Where the unreadable bytes begin, while the walk looks for the next record.
    private var unreadableSince: Int?
    private var beginsWithZero = false
    /// The offset behind the last byte that is not zero, among the unreadable bytes that the walk has passed.
    private var tornEnd = 0
    /// The checksums of the present search; nil if there is no search, or if it has needed none yet.
    private var sums: BlockChecksums?
    /// How many bytes all searches have read for checksums.
    private(set) var bytesSearched = 0
    /// Whether the record that closes the journal was read.
    private var isOver = false

    package enum Step {
        case record(RecordView)
        /// A record with the last bookmark of each worker.
        case bookmarks(RecordView)
        /// A record that says what became of events before it.
        case note(RecordView)
        /// Before the next record, bytes cannot be read or events are missing.
        case damage(SegmentDamage)
        /// The walk needs at least this many bytes from ``offset`` on; none of them lies beyond the limit.
        ///
        /// A search asks for more than the next step needs, so that it seldom asks for the same bytes again.
        case needsBytes(Int)
        case end(SegmentEnd)
    }

    /// Begins after a segment's head.
    package init(of head: SegmentHead) {
        seed = head.seed
        offset = SegmentHead.byteCount
        position = head.firstPosition
    }

    /// Walks on, and returns the next step.
    ///
    /// - Parameters:
    ///   - window: bytes of the segment from ``offset`` on.
    ///   - limit: the offset up to which the segment can be read.
    package mutating func next(in window: UnsafeRawBufferPointer, limit: Int) -> Step {
        var start = 0
        while true {
            let left = limit - offset
            let rest = UnsafeRawBufferPointer(rebasing: window[start...])
            // Without room for another record, and after the end record, the walk is over.
            guard left >= RecordLayout.headBytes, !isOver else {
                guard unreadableSince != nil, left > 0 else { return end() }
                guard rest.count >= left else { return .needsBytes(left) }
                if let last = rest[..<left].lastIndex(where: { $0 != 0 }) { tornEnd = offset + last + 1 }
                return end()
            }
            guard rest.count >= RecordLayout.headBytes else { return .needsBytes(RecordLayout.headBytes) }
            switch look(at: rest, left: left) {
            case .needsBytes(let count): return .needsBytes(count)
            case .found(let record): return found(record)
            case .nothing(let isZero):
                if unreadableSince == nil {
                    unreadableSince = offset
                    beginsWithZero = isZero
                }
                let word = rest.number(at: 0, as: UInt64.self)
                if word != 0 { tornEnd = offset + 8 - word.leadingZeroBitCount / 8 }
                // A segment that was not closed has up to its whole size of zeros, in which no record begins.
                let skipped = word == 0 ? zeroWords(in: rest, upTo: left) : 8
                offset += skipped
                start += skipped
            }
        }
    }

    /// How many bytes the zero words at the front have, among the first `count` bytes.
    private func zeroWords(in rest: UnsafeRawBufferPointer, upTo count: Int) -> Int {
        guard let start = rest.baseAddress else { return 0 }
        return cbp_leading_zeros(start, min(rest.count, count)) & ~7
    }

    private enum Look {
        case found(RecordView)
        case needsBytes(Int)
        case nothing(isZero: Bool)
    }

    private mutating func look(at rest: UnsafeRawBufferPointer, left: Int) -> Look {
        let length = rest.number(at: RecordLayout.length, as: UInt32.self)
        let byteCount = Int(length & RecordLayout.lengthMask)
        // No event has the greatest possible position, because the next position would overflow.
        guard length & ~RecordLayout.lengthMask == RecordLayout.lengthMark, byteCount <= left,
            RecordView.isPlausible(rest, byteCount: byteCount),
            (lowestPosition(rest)..<UInt64.max).contains(rest.number(at: RecordLayout.position, as: UInt64.self))
        else { return .nothing(isZero: length == 0) }
        let isSearch = unreadableSince != nil
        guard rest.count >= byteCount else {
            // A search asks for twice the length, so that such records at the next places need no further bytes.
            return .needsBytes(isSearch ? min(2 * byteCount, left) : byteCount)
        }
        let bytes = UnsafeRawBufferPointer(rebasing: rest[..<byteCount])
        let checksum = isSearch ? searchedChecksum(bytes) : RecordLayout.checksum(bytes, seed: seed, at: offset)
        return RecordView(bytes, checksum: checksum).map { .found($0) } ?? .nothing(isZero: false)
    }

    /// The checksum of what may be a record at ``offset``, without reading all of its bytes again.
    ///
    /// The file may have changed since the search read the first of these bytes. So the record that ends the search is
    /// read once more, as a whole, before the walk hands it out.
    @inline(never)
    private mutating func searchedChecksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var sums = self.sums ?? BlockChecksums(at: offset)
        // The marks then have one owner, and are not copied.
        self.sums = nil
        let before = sums.bytesRead
        defer {
            bytesSearched += sums.bytesRead - before
            self.sums = sums
        }
        return RecordLayout.checksum(bytes, seed: seed, at: offset, knowing: &sums)
    }

    /// The lowest position that a record may have here; a record that is not an event's has the last event's position.
    private func lowestPosition(_ rest: UnsafeRawBufferPointer) -> UInt64 {
        rest[RecordLayout.kind] == RecordLayout.Kind.event.rawValue ? position : position - 1
    }

    private mutating func found(_ record: RecordView) -> Step {
        let isEvent = record.kind == .event
        let expected = isEvent ? position : position - 1
        // The position comes from the file; `look` has checked that it is at least the expected one.
        let missing = record.position - expected
        if unreadableSince != nil || missing > 0 {
            let begin = unreadableSince ?? offset
            let first = isEvent ? record.position : record.position.saturatingSum(1)
            defer {
                unreadableSince = nil
                sums = nil
                position = first
            }
            return .damage(
                SegmentDamage(
                    offset: begin,
                    byteCount: offset - begin,
                    missing: first > position ? position..<first : nil
                )
            )
        }
        offset += RecordLayout.next(after: record.byteCount)
        switch record.kind {
        case .end:
            isOver = true
            return .end(.closed)
        case .bookmarks: return .bookmarks(record)
        case .settled, .strike, .letter, .letterGone, .hostStarted: return .note(record)
        case .event:
            position = record.position.saturatingSum(1)
            return .record(record)
        }
    }

    private mutating func end() -> Step {
        guard let begin = unreadableSince else { return .end(isOver ? .closed : .full) }
        unreadableSince = nil
        sums = nil
        offset = begin
        // A torn end begins with a length that is not 0, so `tornEnd` lies behind its beginning.
        return .end(beginsWithZero ? .open : .torn(byteCount: tornEnd - begin))
    }
}

/// A part of a segment that cannot be read or lacks events, with a record after it.
package struct SegmentDamage: Sendable, Hashable {
    package let offset: Int
    package let byteCount: Int
    /// The positions of the events that are missing; nil if none is missing.
    package let missing: Range<UInt64>?

    package init(offset: Int, byteCount: Int, missing: Range<UInt64>?) {
        self.offset = offset
        self.byteCount = byteCount
        self.missing = missing
    }
}

/// How the records of a segment end.
package enum SegmentEnd: Sendable, Hashable {
    /// With the end record.
    case closed
    /// With zeros: the segment is being written, or its writer was killed.
    case open
    /// Where there is no room for another record.
    case full
    /// With bytes that are not a record, and no record after them; the zeros behind them do not count.
    case torn(byteCount: Int)
}
