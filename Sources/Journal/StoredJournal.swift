import BridgePlatform
import JournalFormat

/// Reads a journal's files, in any process of their owner, even while another process writes them.
///
/// It also removes the oldest files of a journal that no process has open.
package final class StoredJournal {
    package let path: String
    private let storage: any JournalStorage
    /// Locks the files, so that no process opens the journal while they are changed.
    private let lock: () throws(JournalError) -> LockFile?
    package private(set) var catalog: SegmentCatalog
    /// Whether an unknown number of events may be missing behind the last event that the last reading found.
    package private(set) var lacksEnd = false

    package convenience init(at path: String) throws(JournalError) {
        let place = try JournalPlace(at: path, makes: false)
        try self.init(place.storage, at: path) { () throws(JournalError) in try place.lock() }
    }

    init(
        _ storage: any JournalStorage,
        at path: String,
        lock: @escaping () throws(JournalError) -> LockFile?
    ) throws(JournalError) {
        (self.storage, self.path, self.lock) = (storage, path, lock)
        catalog = try SegmentCatalog(of: storage, at: path, skipsUnreadable: true)
    }

    /// The files, with the positions of their events.
    package var listed: [ListedSegment] {
        catalog.segments.enumerated().map { index, segment in
            let next = catalog.positionBehind(segmentAt: index)
            let first = segment.head?.firstPosition
            let end = index + 1 < catalog.segments.count ? next : first.flatMap(positionBehindLast)
            return ListedSegment(
                file: segment.fileName,
                first: first.flatMap { first in end.map { $0 > first } ?? true ? first : nil },
                last: end.flatMap { end in first.map { end > $0 } ?? false ? end - 1 : nil },
                begunAt: segment.head?.begunAt,
                byteCount: segment.byteCount,
                mistake: segment.mistake
            )
        }
    }

    /// The position that follows the last event; nil if it is unknown.
    private func positionBehindLast(from first: UInt64) -> UInt64? {
        guard let last = try? read(after: first - 1, .nothing, { _ in true }), last < .max else { return nil }
        return last + 1
    }

    /// The position of the newest event that can be found; 0 if there is none.
    package func lastPosition() throws -> UInt64 {
        let first = catalog.segments.last { $0.head != nil }?.head?.firstPosition ?? 1
        return try read(after: first - 1, .nothing) { _ in true }
    }

    /// Hands over every wanted event after a position, and every place where events are missing.
    ///
    /// - Parameter take: called for each event or gap; returns whether the reader wants more.
    /// - Returns: The position up to which the journal was read.
    @discardableResult
    package func read(
        after position: UInt64,
        where query: JournalQuery,
        _ take: (JournalStep<JournalRecord>) throws -> Bool
    ) throws -> UInt64 {
        try read(after: position, RecordFilter(query), take)
    }

    /// The same events and gaps as in ``read(after:where:_:)``, for a reader that asks for them one by one.
    package func reading(after position: UInt64, where query: JournalQuery) -> StoredReading {
        StoredReading(self, storage, after: position, RecordFilter(query))
    }

    /// Reads everything, hands over the places where events are missing, and returns the positions that were read.
    ///
    /// If the journal's oldest segments are removed meanwhile, what was read begins behind them.
    package func verify(_ take: (JournalGap) -> Void) throws -> Range<UInt64> {
        // If the head of the oldest file cannot be read, reading begins at position 1, so that a gap is reported.
        var first = catalog.firstPossiblePosition
        let last = try read(after: first - 1, .nothing) { step in
            guard case .gap(let gap) = step else { return true }
            if case .removed = gap.reason, let removed = gap.positions { first = removed.upperBound } else { take(gap) }
            return true
        }
        return first..<(last == .max ? .max : max(first, last + 1))
    }

    private func read(
        after position: UInt64,
        _ filter: RecordFilter,
        _ take: (JournalStep<JournalRecord>) throws -> Bool
    ) throws -> UInt64 {
        let reading = StoredReading(self, storage, after: position, filter)
        defer { lacksEnd = reading.lacksEnd }
        while let step = try reading.next() {
            if try !take(step) { break }
        }
        return reading.position
    }

    /// Lists the files anew: they may have changed since they were listed last.
    func readCatalog() throws(JournalError) {
        catalog = try SegmentCatalog(of: storage, at: path, skipsUnreadable: true)
    }

    /// Removes the oldest segments whose events all lie before a position; the last segment stays.
    ///
    /// - Returns: The removed segments.
    /// - Throws: ``JournalError``, also if a process has the journal open.
    package func trim(before position: UInt64) throws(JournalError) -> [SegmentCatalog.Segment] {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        try readCatalog()
        var removed: [SegmentCatalog.Segment] = []
        do throws(SystemError) {
            while let next = catalog.headBehindOldest, next.firstPosition <= position {
                try storage.remove(catalog.segments[0].fileName)
                removed.append(catalog.removeOldest())
            }
        } catch {
            throw JournalError(error, at: path)
        }
        return removed
    }
}

/// A file in the list of a journal's files.
package struct ListedSegment: Sendable, Hashable {
    package let file: String
    /// The position of the file's first event; nil if the file has no event, or the position is unknown.
    package let first: UInt64?
    /// The position of the file's last event; nil if the file has no event, or the position is unknown.
    package let last: UInt64?
    /// When the segment was begun, in nanoseconds since 1970-01-01 00:00 UTC.
    package let begunAt: UInt64?
    package let byteCount: Int
    /// Why the segment's head cannot be read; nil if it can be read.
    package let mistake: String?

    package init(file: String, first: UInt64?, last: UInt64?, begunAt: UInt64?, byteCount: Int, mistake: String?) {
        self.file = file
        self.first = first
        self.last = last
        self.begunAt = begunAt
        self.byteCount = byteCount
        self.mistake = mistake
    }
}
