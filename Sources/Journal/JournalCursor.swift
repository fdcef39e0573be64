import BridgePlatform
import DomainEvents
import JournalFormat

/// Reads a journal's files from one position on, a portion at a time; only one thread at a time may use a cursor.
final class JournalCursor: @unchecked Sendable {
    // Sendable: the owner of a cursor reads one portion at a time. So what each event needs is marked `unchecked`,
    // without Swift's check of exclusive access.
    private let storage: any JournalStorage
    private let path: String
    private let filter: RecordFilter
    /// Whether bytes that the disk cannot read count as damage; if not, they end the reading with an error.
    private let skipsUnreadable: Bool
    private let checksPayloads: Bool
    /// The position up to which every event was handed out, filtered out or reported missing.
    @exclusivity(unchecked) private(set) var position: UInt64
    /// The last event that was handed out or filtered out; nil if there was none.
    @exclusivity(unchecked) private(set) var last: RecordMark?
    /// Whether events may be missing after the last one that was found, and nothing says how many.
    @exclusivity(unchecked) private(set) var lacksEnd = false
    /// Whether the last reading stopped at a file that is no longer there, so the catalog has to be read again.
    private(set) var isOutdated = false
    /// Whether the last reading reached the end; if false, there may be more, even if no wanted event was found.
    private(set) var isAtEnd = false
    /// How many steps the last portion had; the next one probably has as many.
    private var expected = 0
    /// How many more bytes the present reading may walk over.
    @exclusivity(unchecked) private var left = 0
    private var missing: UInt64?
    /// How the last segment ends; nil before the end is reached, and nil if the horizon says where the records end.
    private(set) var ending: Ending?
    private var current: Current?
    /// The number of the last segment that was read or skipped.
    private var finished: UInt64?
    /// The position after the last event of the last segment that was read to its end; 1 if there is none yet.
    private(set) var reached: UInt64 = 1
    /// Whether to gather the bookmarks of the events that are read.
    var notesBookmarks = false
    /// The last bookmark of each worker, up to the first place where events are missing.
    private(set) var bookmarks = BookmarkTable()
    /// Whether the bookmarks began with those of a segment's record of bookmarks.
    private(set) var hasTable = false
    /// Which events are owed to which receivers, up to the last event and note that was read; nil if not gathered.
    var custody: CustodyLedger?
    /// Whether the last segment that was read has notes.
    private(set) var hasNotes = false
    /// The bytes that are read now.
    @exclusivity(unchecked) private var window = SegmentWindow.empty
    /// The bytes that were read before those of `window`; a portion may still keep them.
    private var spare = SegmentWindow.empty
    /// Whether the window must not be written again, even if no portion keeps it.
    private var windowIsInUse = false

    private static let windowBytes = 256 << 10
    /// After how many steps a portion ends; a portion with records ends earlier if the window has no further record.
    private static let portion = 1_024
    /// How many bytes the reading of a portion walks over before it stops.
    private static let portionBytes = 512 << 10

    /// - Parameter skipsUnreadable: whether bytes that the disk cannot read count as damage. A host that opens its
    ///   journal goes on behind the last record that it finds, so for such a host these bytes are an error.
    init(
        _ storage: any JournalStorage,
        at path: String,
        after position: UInt64,
        filter: RecordFilter,
        skipsUnreadable: Bool,
        checksPayloads: Bool = false
    ) {
        self.storage = storage
        self.path = path
        self.position = position
        self.filter = filter
        self.skipsUnreadable = skipsUnreadable
        self.checksPayloads = checksPayloads
    }

    /// Reads the next portion; ``isAtEnd`` then says whether the reading reached the end.
    ///
    /// - Parameter isAhead: whether a thread may still use the last portion. This reading then takes another window,
    ///   even if that portion is gone before the reading needs room: the thread sanitizer does not see that a count of
    ///   references orders the accesses of the two threads.
    /// - Throws: ``JournalError`` if the system cannot read on; another call tries again from the same place.
    func read(to horizon: Horizon, isAhead: Bool = false) throws(JournalError) -> StoredSteps {
        windowIsInUse = isAhead
        var steps = StoredSteps(reserving: expected)
        isOutdated = false
        isAtEnd = false
        left = Self.portionBytes
        while steps.count < Self.portion, left > 0 {
            do throws(JournalError) {
                let hasSegment = if current == nil { try enterNext(horizon, &steps) } else { true }
                guard hasSegment, try walk(horizon, &steps) else {
                    isAtEnd = !isOutdated
                    break
                }
            } catch {
                // What was read before the error is handed out first; the next call meets the error again.
                if steps.isEmpty { throw error }
                break
            }
        }
        expected = steps.count
        steps.keep(window)
        // A reader that waits for the next event holds no room that it may not need again.
        if isAtEnd { spare = .empty }
        return steps
    }

    // MARK: - From segment to segment

    /// Opens the next segment to read.
    ///
    /// - Returns: True if reading goes on; false at the end, and false if the catalog has to be read again.
    /// - Throws: ``JournalError`` if the system lacks something for the moment, such as a free descriptor; the call
    ///   then adds no gap for the segment.
    private func enterNext(_ horizon: Horizon, _ steps: inout StoredSteps) throws(JournalError) -> Bool {
        let catalog = horizon.catalog
        let index: Int?
        if let finished {
            index = catalog.segments.firstIndex { $0.number > finished }
        } else {
            index = catalog.index(behind: position)
        }
        guard let index else { return false }
        let segment = catalog.segments[index]
        let isOldest = index == 0
        if let finished, segment.number - 1 > finished, !isOldest {
            let name = SegmentCatalog.fileName(of: finished + 1)
            tell(upTo: segment.head?.firstPosition, .unreadable(file: name, why: "there is no such file"), &steps)
        }
        var mistake: JournalGap.Reason?
        // A head that can be read says how many events come before it, so the number of missing events is known.
        lacksEnd = lacksEnd && segment.head == nil
        if segment.head == nil { mistake = .unreadable(file: segment.fileName, why: segment.mistake ?? "no head") }
        guard let head = segment.head ?? catalog.rebuiltHead(ofSegmentAt: index, firstPosition: reached) else {
            let next = catalog.segments[(index + 1)...].lazy.compactMap(\.head).first
            if let mistake { tell(upTo: next?.firstPosition, mistake, &steps) }
            finished = segment.number
            return true
        }
        if mistake == nil, head.firstPosition > position, head.firstPosition - 1 > position {
            tell(upTo: head.firstPosition, isOldest ? .removed : lost(before: segment), &steps)
        }
        do throws(SystemError) {
            hasNotes = false
            current = Current(head, try storage.open(segment.fileName, forWriting: false))
            if let mistake { tell(upTo: nil, mistake, &steps) }
        } catch {
            // The journal's retention may just have removed the file; the caller then reads a catalog without the file.
            if error.isMissingFile, missing != segment.number {
                missing = segment.number
                isOutdated = true
                return false
            }
            if error.isShortage { throw JournalError(error, at: path) }
            let next = index + 1 < catalog.segments.count ? catalog.segments[index + 1].head?.firstPosition : nil
            tell(upTo: next, .unreadable(file: segment.fileName, why: "\(error)"), &steps)
            finished = segment.number
        }
        return true
    }

    private func lost(before segment: SegmentCatalog.Segment) -> JournalGap.Reason {
        let name = SegmentCatalog.fileName(of: segment.number - 1)
        return .unreadable(file: name, why: "its last events are missing")
    }

    /// Adds a gap for all events before the position `next`; the gap has no positions if `next` is nil.
    private func tell(upTo next: UInt64?, _ reason: JournalGap.Reason, _ steps: inout StoredSteps) {
        guard let next else {
            lacksEnd = true
            eventsAreMissing()
            return steps.append(JournalGap(positions: nil, reason: reason))
        }
        guard next > position, next - 1 > position else { return }
        eventsAreMissing()
        steps.append(JournalGap(positions: (position + 1)..<next, reason: reason))
        position = next - 1
    }

    /// From this place on bookmarks do not count, and until a host has started, notes end no debts of earlier events.
    private func eventsAreMissing() {
        notesBookmarks = false
        custody?.eventsAreMissing()
    }

    // MARK: - Within a segment

    /// Reads on in the current segment, and returns whether there may be more to read.
    private func walk(_ horizon: Horizon, _ steps: inout StoredSteps) throws(JournalError) -> Bool {
        guard var here = current else { return true }
        defer { if current != nil { current = here } }
        let segments = horizon.catalog.segments
        let index = segments.firstIndex { $0.number == here.number }
        let isLast = index.map { $0 == segments.count - 1 } ?? false
        // Another process may be writing the segment, and only the segment's own bytes say where its records end.
        let isLiving = isLast && horizon.end == nil
        var byteCount = try self.byteCount(of: here)
        var limit = self.limit(of: here, byteCount, index: index, isLast: isLast, horizon)
        while steps.count < Self.portion, left > 0 {
            let start = min(max(0, here.walk.offset - here.window.lowerBound), here.window.count)
            let bytes = UnsafeRawBufferPointer(rebasing: window.bytes[start..<here.window.count])
            let before = here.walk.offset
            let step = here.next(in: bytes, limit: limit)
            left -= max(0, here.walk.offset - before)
            switch step {
            case .needsBytes(let count):
                // The records of a portion lie in one window.
                if steps.hasRecords {
                    left = 0
                    return true
                }
                if try fill(&here, count, limit) { continue }
                // The file was cut after its last record, at the close of the journal or at the next opening.
                byteCount = try shortened(here, from: byteCount)
                limit = self.limit(of: here, byteCount, index: index, isLast: isLast, horizon)
                here.goBack()
            case .record(let record):
                take(record, &steps)
                here.wasTold()
            case .bookmarks(let record):
                takeBookmarks(record)
                here.wasTold()
            case .note(let record):
                hasNotes = true
                if custody != nil, let note = record.note { custody?.noted(note) }
                here.wasTold()
            case .damage(let damage):
                if isLiving, here.doubts(.damage(damage)) { continue }
                tell(damage, in: here.number, behind: here.walk.position, &steps)
                here.wasTold()
            case .end(let end):
                guard isLast else {
                    leave(here, end, next: index.map { segments[$0 + 1] }, &steps)
                    return true
                }
                if isLiving, isDamage(end, here, byteCount), here.doubts(.end(end, byteCount: byteCount)) {
                    byteCount = try self.byteCount(of: here)
                    limit = self.limit(of: here, byteCount, index: index, isLast: isLast, horizon)
                    continue
                }
                if isLiving {
                    noteEnd(end, here, byteCount, &steps)
                } else {
                    tellUnread(here, limit, last: horizon.last, &steps)
                }
                return false
            }
        }
        return true
    }

    private func byteCount(of here: Current) throws(JournalError) -> Int {
        try attempt { () throws(SystemError) in try here.file.byteCount() }
    }

    private func shortened(_ here: Current, from byteCount: Int) throws(JournalError) -> Int {
        let now = try self.byteCount(of: here)
        if now < byteCount { return now }
        let name = SegmentCatalog.fileName(of: here.number)
        throw JournalError(.damaged, "the journal \(path): \(name) has fewer bytes than its file system says")
    }

    /// How far the segment can be read.
    private func limit(of here: Current, _ byteCount: Int, index: Int?, isLast: Bool, _ horizon: Horizon) -> Int {
        let end = isLast ? horizon.end : index.flatMap { horizon.catalog.end(ofSegmentAt: $0) }
        // A file that is no longer in the catalog is still open here; it was complete, so its own size is the limit.
        return min(end ?? byteCount, byteCount, here.segmentBytes)
    }

    /// Reads bytes into the window, from the walk's offset on, and returns whether at least `count` bytes were read.
    private func fill(_ here: inout Current, _ count: Int, _ limit: Int) throws(JournalError) -> Bool {
        let wanted = min(max(count, Self.windowBytes), limit - here.walk.offset)
        // If the reading fails, nothing is left of the old bytes.
        here.window = 0..<0
        makeRoom(wanted)
        let offset = here.walk.offset
        let target = UnsafeMutableRawBufferPointer(rebasing: window.bytes[..<wanted])
        let (file, skips) = (here.file, skipsUnreadable)
        let read = try attempt { () throws(SystemError) in
            try skips ? file.readPastUnreadable(at: offset, into: target) : file.read(at: offset, into: target)
        }
        guard read >= count else { return false }
        here.window = offset..<(offset + read)
        return true
    }

    /// Replaces the window if it must not be written, or if it has no room for this many bytes.
    private func makeRoom(_ byteCount: Int) {
        if !windowIsInUse, isKnownUniquelyReferenced(&window), window.bytes.count >= byteCount { return }
        swap(&window, &spare)
        windowIsInUse = false
        if isKnownUniquelyReferenced(&window), window.bytes.count >= byteCount { return }
        window = SegmentWindow(byteCount: byteCount)
    }

    private func take(_ record: RecordView, _ steps: inout StoredSteps) {
        guard record.position > position else { return }
        position = record.position
        last = RecordMark(record)
        lacksEnd = false
        if notesBookmarks, let bookmark = record.bookmark {
            bookmarks.note(bookmark.bookmark.bytes, of: bookmark.worker, at: position)
        }
        if record.isOwed { custody?.recorded(record) }
        if filter.wants(record) { steps.append(record, checksPayload: checksPayloads) }
    }

    /// Takes the bookmarks with which a segment begins, if none are known yet; later bookmarks come with the events.
    private func takeBookmarks(_ record: RecordView) {
        guard notesBookmarks, !hasTable, bookmarks.isEmpty, let table = record.bookmarks else { return }
        (bookmarks, hasTable) = (table, true)
    }

    /// Adds a gap for damage within a segment; `next` is the position of the event after the damage.
    private func tell(_ damage: SegmentDamage, in number: UInt64, behind next: UInt64, _ steps: inout StoredSteps) {
        // Damage before the reader's position does not concern the reader.
        guard next > position, damage.missing == nil || next - 1 > position else { return }
        let reason = JournalGap.Reason.damaged(
            file: SegmentCatalog.fileName(of: number),
            offset: damage.offset,
            byteCount: damage.byteCount
        )
        if damage.missing == nil { return steps.append(JournalGap(positions: nil, reason: reason)) }
        tell(upTo: next, reason, &steps)
    }

    /// Leaves the current segment; adds a gap if the next segment's head says that this one had further records.
    private func leave(
        _ here: Current,
        _ end: SegmentEnd,
        next: SegmentCatalog.Segment?,
        _ steps: inout StoredSteps
    ) {
        finished = here.number
        reached = here.walk.position
        current = nil
        guard let next, next.number - 1 == here.number, let head = next.head else { return }
        // Behind the end record there may be zeros, if the program was killed before it had cut them off.
        let lost = end == .closed ? 0 : max(0, head.previousEnd - here.walk.offset)
        let reason = here.damage(ofBytes: lost)
        if head.firstPosition > here.walk.position {
            tell(upTo: head.firstPosition, reason, &steps)
        } else if lost > 0 {
            // No event is missing, so these were notes, or the end record.
            steps.append(JournalGap(positions: nil, reason: reason))
        }
    }

    /// Whether this end of the last segment is damage: bytes that are no record, or a file that is too short.
    private func isDamage(_ end: SegmentEnd, _ here: Current, _ byteCount: Int) -> Bool {
        if case .torn = end { return true }
        return end != .closed && byteCount < here.segmentBytes
    }

    /// Notes how the last segment ends, and adds a gap if the end is damage.
    private func noteEnd(_ end: SegmentEnd, _ here: Current, _ byteCount: Int, _ steps: inout StoredSteps) {
        // An end is noted only once for each segment.
        guard finished != here.number else { return }
        finished = here.number
        ending = Ending(offset: here.walk.offset, end: end)
        if end == .closed { lacksEnd = false }
        guard isDamage(end, here, byteCount) else { return }
        var broken = 0
        if case .torn(let count) = end { broken = count }
        tell(upTo: nil, here.damage(ofBytes: broken), &steps)
    }

    /// Adds a gap if the walk has ended before the records do, and events are among the bytes that it could not read.
    ///
    /// - Parameter last: the position of the last event before `limit`. If a note behind that event is damaged, the gap
    ///   for the note is added once a record follows.
    private func tellUnread(_ here: Current, _ limit: Int, last: UInt64?, _ steps: inout StoredSteps) {
        guard let last, here.walk.offset < limit else { return }
        tell(upTo: last.saturatingSum(1), here.damage(ofBytes: limit - here.walk.offset), &steps)
    }

    private func attempt<R>(_ body: () throws(SystemError) -> R) throws(JournalError) -> R {
        do {
            return try body()
        } catch {
            throw JournalError(reading: error, at: path)
        }
    }
}
