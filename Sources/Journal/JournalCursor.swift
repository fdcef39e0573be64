import BridgePlatform
import JournalFormat

/// What a reader finds next, before it is made into an event of a type.
enum StoredStep: Sendable {
    case record(JournalRecord)
    case gap(JournalGap)
}

/// Reads a journal's files from one position on, a portion at a time; one thread uses it at once.
final class JournalCursor: @unchecked Sendable {
    // Sendable: its user reads one portion after the other.
    private let storage: any JournalStorage
    private let path: String
    private let filter: RecordFilter
    /// Everything up to here was told, filtered out or found missing.
    private(set) var position: UInt64
    /// Whether the last reading ended at a file that is no longer there: another look at the catalog is due.
    private(set) var isOutdated = false
    private var missing: UInt64?
    /// Nil before the end was reached, and while the journal is written.
    private(set) var ending: Ending?
    private var current: Current?
    /// The segment that was read last.
    private var finished: UInt64?
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 8)

    /// A segment that is being read.
    private struct Current {
        let number: UInt64
        let file: any JournalFile
        var walk: SegmentWalk
        /// Where the bytes in the buffer lie.
        var window = 0..<0
    }

    /// How the last segment ends.
    struct Ending {
        let offset: Int
        let end: SegmentEnd
    }

    /// How far a journal can be read at the moment.
    struct Horizon: Sendable {
        let catalog: SegmentCatalog
        /// Where the records of the last segment end; nil where its bytes say so.
        let end: Int?
    }

    private static let windowBytes = 256 << 10
    /// How much is read before the reader gets it.
    private static let portion = 256

    init(_ storage: any JournalStorage, at path: String, after position: UInt64, filter: RecordFilter) {
        self.storage = storage
        self.path = path
        self.position = position
        self.filter = filter
    }

    deinit { buffer.deallocate() }

    /// Reads on; an empty portion is the end, for now.
    func read(to horizon: Horizon) throws(JournalError) -> [StoredStep] {
        var steps: [StoredStep] = []
        isOutdated = false
        while steps.count < Self.portion {
            guard current != nil || enterNext(horizon, &steps) else { break }
            guard try walk(horizon, &steps) else { break }
        }
        return steps
    }

    // MARK: - From segment to segment

    /// Opens the segment in which the reading goes on.
    ///
    /// - Returns: Whether the reading goes on; false at the end.
    private func enterNext(_ horizon: Horizon, _ steps: inout [StoredStep]) -> Bool {
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
        guard let head = segment.head else {
            let next = catalog.segments[(index + 1)...].lazy.compactMap(\.head).first
            let reason = JournalGap.Reason.unreadable(file: segment.fileName, why: segment.mistake ?? "no head")
            tell(upTo: next?.firstPosition, reason, &steps)
            finished = segment.number
            return true
        }
        if head.firstPosition > position, head.firstPosition - 1 > position {
            tell(upTo: head.firstPosition, isOldest ? .removed : lost(before: segment), &steps)
        }
        do throws(SystemError) {
            let file = try storage.open(segment.fileName, forWriting: false)
            current = Current(number: segment.number, file: file, walk: SegmentWalk(of: head))
        } catch {
            // Removed in this moment, as the journal keeps only so much: the next look at the catalog says so.
            if error.isMissingFile, missing != segment.number {
                missing = segment.number
                isOutdated = true
                return false
            }
            let next = index + 1 < catalog.segments.count ? catalog.segments[index + 1].head?.firstPosition : nil
            tell(upTo: next, .unreadable(file: segment.fileName, why: "\(error)"), &steps)
            finished = segment.number
        }
        return true
    }

    private func lost(before segment: SegmentCatalog.Segment) -> JournalGap.Reason {
        let name = SegmentCatalog.fileName(of: segment.number - 1)
        return .unreadable(file: name, why: "it ends before its last event")
    }

    /// Tells that everything up to the event at `next` is missing.
    private func tell(upTo next: UInt64?, _ reason: JournalGap.Reason, _ steps: inout [StoredStep]) {
        guard let next else { return steps.append(.gap(JournalGap(positions: nil, reason: reason))) }
        guard next > position, next - 1 > position else { return }
        steps.append(.gap(JournalGap(positions: (position + 1)..<next, reason: reason)))
        position = next - 1
    }

    // MARK: - Within a segment

    /// Reads on in the current segment.
    ///
    /// - Returns: Whether there may be more.
    private func walk(_ horizon: Horizon, _ steps: inout [StoredStep]) throws(JournalError) -> Bool {
        guard var here = current else { return true }
        defer { if current != nil { current = here } }
        let segments = horizon.catalog.segments
        let index = segments.firstIndex { $0.number == here.number }
        let isLast = index.map { $0 == segments.count - 1 } ?? false
        // A file that was removed meanwhile is open still, and was whole.
        let byteCount = try attempt { () throws(SystemError) in try here.file.byteCount() }
        var limit = index.flatMap { horizon.catalog.end(ofSegmentAt: $0) } ?? byteCount
        if isLast, let end = horizon.end { limit = min(end, byteCount) }
        while steps.count < Self.portion {
            let start = min(max(0, here.walk.offset - here.window.lowerBound), here.window.count)
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[start..<here.window.count])
            switch here.walk.next(in: bytes, limit: limit) {
            case .needsBytes(let count): try fill(&here, count, limit)
            case .record(let record): take(record, &steps)
            case .damage(let damage): tell(damage, in: here.number, behind: here.walk.position, &steps)
            case .end(let end):
                if isLast { return noteEnd(end, here, byteCount, segments[segments.count - 1], horizon, &steps) }
                leave(here, limit: limit, next: index.map { segments[$0 + 1] }, &steps)
                return true
            }
        }
        return true
    }

    private func fill(_ here: inout Current, _ count: Int, _ limit: Int) throws(JournalError) {
        let wanted = min(max(count, Self.windowBytes), limit - here.walk.offset)
        if buffer.count < wanted {
            buffer.deallocate()
            buffer = .allocate(byteCount: wanted, alignment: 8)
        }
        let offset = here.walk.offset
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
        let file = here.file
        let read = try attempt { () throws(SystemError) in try file.read(at: offset, into: target) }
        guard read >= count else {
            let name = SegmentCatalog.fileName(of: here.number)
            throw JournalError(.damaged, "the journal \(path): \(name) was cut while it was read")
        }
        here.window = offset..<(offset + read)
    }

    private func take(_ record: RecordView, _ steps: inout [StoredStep]) {
        guard record.position > position else { return }
        position = record.position
        guard filter.wants(record) else { return }
        guard let (context, payload) = record.event() else {
            steps.append(.gap(JournalGap(at: position, .undecodable(why: "its parts do not fit"))))
            return
        }
        steps.append(
            .record(
                JournalRecord(position: position, name: record.name, context: context, payload: Array(payload))
            )
        )
    }

    /// - Parameter next: the position of the event behind the damage.
    private func tell(_ damage: SegmentDamage, in number: UInt64, behind next: UInt64, _ steps: inout [StoredStep]) {
        // What the reader did not ask for does not concern it.
        guard next > position, damage.missing == nil || next - 1 > position else { return }
        let reason = JournalGap.Reason.damaged(
            file: SegmentCatalog.fileName(of: number),
            offset: damage.offset,
            byteCount: damage.byteCount
        )
        if damage.missing == nil { return steps.append(.gap(JournalGap(positions: nil, reason: reason))) }
        tell(upTo: next, reason, &steps)
    }

    /// Goes on to the next segment, which says how far this one went.
    private func leave(
        _ here: Current,
        limit: Int,
        next: SegmentCatalog.Segment?,
        _ steps: inout [StoredStep]
    ) {
        finished = here.number
        current = nil
        guard let next, next.number - 1 == here.number, let head = next.head, head.firstPosition > here.walk.position
        else { return }
        tell(
            upTo: head.firstPosition,
            .damaged(
                file: SegmentCatalog.fileName(of: here.number),
                offset: here.walk.offset,
                byteCount: max(0, limit - here.walk.offset)
            ),
            &steps
        )
    }

    /// Tells of an end of the last segment that no writer has left there.
    ///
    /// - Returns: False: there is no more, for now.
    private func noteEnd(
        _ end: SegmentEnd,
        _ here: Current,
        _ byteCount: Int,
        _ segment: SegmentCatalog.Segment,
        _ horizon: Horizon,
        _ steps: inout [StoredStep]
    ) -> Bool {
        guard horizon.end == nil, finished != here.number else { return false }
        // Once: the next call finds nothing.
        finished = here.number
        ending = Ending(offset: here.walk.offset, end: end)
        let isShort = end != .closed && byteCount < segment.head?.segmentBytes ?? 0
        var broken = 0
        if case .torn(let count) = end { broken = count }
        guard isShort || broken > 0 else { return false }
        let reason = JournalGap.Reason.damaged(
            file: segment.fileName,
            offset: here.walk.offset,
            byteCount: broken
        )
        steps.append(.gap(JournalGap(positions: nil, reason: reason)))
        return false
    }

    private func attempt<R>(_ body: () throws(SystemError) -> R) throws(JournalError) -> R {
        do {
            return try body()
        } catch {
            throw JournalError(error, at: path)
        }
    }
}

/// A query whose names are bytes, so that most records are left out before they are looked at.
struct RecordFilter: Sendable {
    private let names: [[UInt8]]
    private let query: JournalQuery
    private var wantsNothing = false

    /// For a reader that wants to know where events are missing, and nothing else.
    static let nothing: RecordFilter = {
        var filter = RecordFilter(JournalQuery())
        filter.wantsNothing = true
        return filter
    }()

    init(_ query: JournalQuery) {
        self.query = query
        names = query.names.map { Array($0.utf8) }
    }

    func wants(_ record: RecordView) -> Bool {
        if wantsNothing { return false }
        if !names.isEmpty, !names.contains(where: { $0.withUnsafeBytes(record.isNamed) }) { return false }
        if let since = query.since, record.time < since { return false }
        if let until = query.until, record.time >= until { return false }
        if let origin = query.origin, record.origin != origin { return false }
        return true
    }
}
