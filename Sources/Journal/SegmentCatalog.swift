import BridgePlatform
package import JournalFormat

/// The segments of a journal, oldest first, as their file names and heads describe them.
package struct SegmentCatalog: Sendable {
    /// One file.
    package struct Segment: Sendable {
        package let number: UInt64
        /// What the first bytes of the file say.
        let reading: SegmentHead.Reading
        package let byteCount: Int

        /// The segment's head; nil if it cannot be read.
        package var head: SegmentHead? { if case .head(let head) = reading { head } else { nil } }

        /// Why the head cannot be read; nil if it can be read.
        package var mistake: String? {
            switch reading {
            case .head: nil
            case .unused: "its head is gone"
            case .damaged(let mistake), .unreadable(let mistake): mistake
            }
        }

        /// Whether the file may have records that can be read.
        var isReadable: Bool { if case .unreadable = reading { false } else { true } }

        package var fileName: String { SegmentCatalog.fileName(of: number) }
    }

    package private(set) var segments: [Segment] = []
    /// The names of files that were made ahead and hold nothing.
    package private(set) var unused: [String] = []

    private static let suffix = ".segment"
    private static let digits = 20
    /// The name of a segment's file until the file is complete.
    static let unfinishedName = "unfinished"

    package init() {}

    /// Lists the segments in a directory.
    ///
    /// - Parameter skipsUnreadable: whether a head that the disk cannot read counts as damaged; if not, it is an error.
    /// - Throws: ``JournalError``; also if the files belong to different journals.
    package init(of storage: any JournalStorage, at path: String, skipsUnreadable: Bool) throws(JournalError) {
        do throws(SystemError) {
            for name in try storage.names() {
                guard let number = Self.number(of: name) else { continue }
                let found = try Self.look(at: name, in: storage, skipsUnreadable: skipsUnreadable)
                guard let look = found else { continue }
                switch look.reading {
                case .unused where look.isZero: unused.append(name)
                case .head(let head) where head.number != number:
                    let mistake = "its head says that it is segment \(head.number)"
                    append(Segment(number: number, reading: .unreadable(mistake), byteCount: look.byteCount))
                case .head, .unused, .damaged, .unreadable:
                    append(Segment(number: number, reading: look.reading, byteCount: look.byteCount))
                }
            }
        } catch {
            throw JournalError(reading: error, at: path)
        }
        try refuseForeign(path)
    }

    /// The findings about a file at one moment.
    private struct Look: Equatable {
        let byteCount: Int
        let reading: SegmentHead.Reading
        /// Whether the file has only zeros, and at most the size of the largest segment.
        let isZero: Bool

        init(_ file: any JournalFile) throws(SystemError) {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
            defer { buffer.deallocate() }
            byteCount = try file.byteCount()
            let beginning = UnsafeMutableRawBufferPointer(rebasing: buffer[..<SegmentHead.byteCount])
            let count = try file.read(at: 0, into: beginning)
            reading = SegmentHead.read(UnsafeRawBufferPointer(rebasing: beginning[..<count]))
            var isZero = reading == .unused && byteCount <= SegmentHead.largestSegment
            var offset = count
            while isZero, offset < byteCount {
                let read = try file.read(at: offset, into: buffer)
                isZero = UnsafeRawBufferPointer(rebasing: buffer[..<read]).isZero
                if read == 0 { break }
                offset += read
            }
            self.isZero = isZero
        }

        /// A file whose head the disk cannot read, or a headless file that the disk can read only in part.
        init(_ file: any JournalFile, unreadable error: SystemError) throws(SystemError) {
            byteCount = try file.byteCount()
            reading = .damaged("\(error)")
            isZero = false
        }
    }

    /// Reads the beginning of a file, and finds out whether a file without a head is all zeros.
    ///
    /// - Returns: Nil if the file is gone: the journal's retention may have removed it after it was listed.
    private static func look(
        at name: String,
        in storage: any JournalStorage,
        skipsUnreadable: Bool
    ) throws(SystemError) -> Look? {
        let file: any JournalFile
        do throws(SystemError) {
            file = try storage.open(name, forWriting: false)
        } catch {
            if error.isMissingFile { return nil }
            throw error
        }
        // The writer may begin the segment during the reading. So a headless file is read until two readings agree.
        var before: Look?
        while true {
            let look: Look
            do throws(SystemError) {
                look = try Look(file)
            } catch {
                guard skipsUnreadable, error.isUnreadable else { throw error }
                look = try Look(file, unreadable: error)
            }
            switch look.reading {
            case .head: return look
            case .unused, .damaged, .unreadable:
                if look.isZero || look == before { return look }
                before = look
            }
        }
    }

    private func refuseForeign(_ path: String) throws(JournalError) {
        let heads = segments.compactMap(\.head)
        if let other = heads.first(where: { $0.journal != heads.first?.journal }) {
            let name = Self.fileName(of: other.number)
            throw JournalError(.foreign, "the journal \(path): \(name) belongs to another journal than the others")
        }
    }

    /// The name of a segment's file; names sort in the order of the numbers.
    package static func fileName(of number: UInt64) -> String {
        let text = String(number)
        return String(repeating: "0", count: digits - text.utf8.count) + text + suffix
    }

    private static func number(of name: String) -> UInt64? {
        guard name.hasSuffix(suffix), name.utf8.count == digits + suffix.utf8.count,
            let number = UInt64(name.dropLast(suffix.utf8.count)), number > 0
        else { return nil }
        return number
    }

    mutating func append(_ segment: Segment) { segments.append(segment) }

    mutating func removeOldest() -> Segment { segments.removeFirst() }

    /// Puts back a segment that ``removeOldest()`` returned.
    mutating func putBack(_ segment: Segment) { segments.insert(segment, at: 0) }

    mutating func removeLast() { segments.removeLast() }

    /// The journal's identity; nil if no head can be read.
    var journal: UInt64? { segments.lazy.compactMap(\.head).first?.journal }

    /// A head in place of one that cannot be read, so that the records after it can be read.
    ///
    /// - Parameter firstPosition: a position at or before that of the segment's first event.
    /// - Returns: Nil if the segment cannot be read, or no other head says to which journal it belongs.
    func rebuiltHead(ofSegmentAt index: Int, firstPosition: UInt64) -> SegmentHead? {
        let segment = segments[index]
        guard segment.isReadable, let journal else { return nil }
        return SegmentHead(
            journal: journal,
            number: segment.number,
            segmentBytes: min(segment.byteCount, SegmentHead.largestSegment),
            firstPosition: firstPosition,
            begunAt: 0,
            previousEnd: 0
        )
    }

    /// The size of all segments' files together, plus `others`, in bytes.
    func byteCount(with others: Int) -> Int { segments.reduce(others) { $0.saturatingSum($1.byteCount) } }

    /// The first position of the oldest segment whose head can be read; nil if there is none.
    package var firstPosition: UInt64? { segments.lazy.compactMap(\.head).first?.firstPosition }

    /// The first head behind the oldest segment: every event of that segment lies before it; nil if there is none.
    var headBehindOldest: SegmentHead? { segments.dropFirst().lazy.compactMap(\.head).first }

    /// A position at or before that of the first event that can be read: a segment without a head says nothing of its
    /// own, but its records can be read.
    var firstPossiblePosition: UInt64 { segments.first?.head?.firstPosition ?? 1 }

    /// The index of the last segment before which all was safe when the last head was written; nil if there is no head.
    ///
    /// The last head says from which segment on something was not safe. All that lies before that segment's beginning
    /// has been safe ever since, whatever the segment's own head said earlier.
    var safeIndex: Int? {
        guard var index = segments.lastIndex(where: { $0.head != nil }) else { return nil }
        while let head = segments[index].head, head.unsafeSegments != 0 {
            if let unsafe = head.unsafeSegments, unsafe <= UInt64(index) {
                let begin = index - Int(unsafe)
                if segments[begin].head?.number == head.number - unsafe { return begin }
            }
            guard let earlier = segments[..<index].lastIndex(where: { $0.head != nil }) else { return index }
            index = earlier
        }
        return index
    }

    /// The index of the segment in which reading after a position begins; nil if there are no segments.
    func index(behind position: UInt64) -> Int? {
        // This is a loop, because the optimizer of Swift 6.3.1 crashes on a search with closures here.
        for index in segments.indices.reversed() {
            // A head's first position is at least 1, so the subtraction cannot overflow.
            if let head = segments[index].head, head.firstPosition - 1 <= position { return index }
        }
        return segments.indices.first
    }

    /// The index of the newest segment that was begun at this time or before; nil if there is none.
    func index(begunBy time: UInt64) -> Int? {
        // This is a loop for the same reason.
        for index in segments.indices.reversed() {
            if let head = segments[index].head, head.begunAt <= time { return index }
        }
        return nil
    }

    /// Where the records of a segment end; nil if the next segment does not say where.
    func end(ofSegmentAt index: Int) -> Int? {
        head(behindSegmentAt: index).map { min($0.previousEnd, segments[index].byteCount) }
    }

    /// The position behind the last event of a segment; nil if the next segment does not say it.
    func positionBehind(segmentAt index: Int) -> UInt64? { head(behindSegmentAt: index)?.firstPosition }

    /// The head of the very next segment; nil if that segment is missing, or its head cannot be read.
    private func head(behindSegmentAt index: Int) -> SegmentHead? {
        guard index + 1 < segments.count, segments[index + 1].number - 1 == segments[index].number else { return nil }
        return segments[index + 1].head
    }
}
