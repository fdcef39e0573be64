import BridgePlatform
import JournalFormat
import Locks

/// What a journal's directory holds when it is opened to be written: where the last process stopped.
struct JournalOpening {
    let catalog: SegmentCatalog
    /// The journal's identity.
    let journal: UInt64
    let nextNumber: UInt64
    let lastPosition: UInt64
    /// Where the records of the last segment end; 0 if there is none.
    let lastEnd: Int
    let recovery: JournalRecovery

    /// Numbers and positions of files are far below this, and are counted on without a look.
    private static let highest: UInt64 = 1 << 62

    /// Reads all heads and the last segment, and closes that one: the journal goes on in a new one.
    ///
    /// It needs no room in the file system.
    init(_ storage: any JournalStorage, at path: String, durability: JournalDurability) throws(JournalError) {
        var catalog = try SegmentCatalog(of: storage, at: path)
        do throws(SystemError) {
            // What was made ahead, and holds nothing.
            for name in catalog.unused + [SegmentCatalog.unfinishedName] { try storage.remove(name) }
        } catch {
            throw JournalError(error, at: path)
        }
        guard let last = catalog.segments.last else {
            self.catalog = catalog
            journal = Randomness.nextIncarnation()
            (nextNumber, lastPosition, lastEnd) = (1, 0, 0)
            recovery = JournalRecovery(lastPosition: 0, wasClosed: true, tornBytes: 0, gaps: [])
            return
        }
        guard let head = last.head, last.number < Self.highest else {
            throw JournalError(
                .damaged,
                """
                the journal \(path): \(last.fileName): \(last.mistake ?? "its number leaves no room"); move the file \
                elsewhere to go on without its events
                """
            )
        }
        let cursor = JournalCursor(storage, at: path, after: head.firstPosition - 1, filter: .nothing)
        var gaps: [JournalGap] = []
        while true {
            let steps = try cursor.read(to: .init(catalog: catalog, end: nil))
            for case .gap(let gap) in steps { gaps.append(gap) }
            if steps.isEmpty { break }
        }
        guard let ending = cursor.ending, cursor.position < Self.highest else {
            throw JournalError(.damaged, "the journal \(path): \(last.fileName): its positions leave no room")
        }
        catalog.removeLast()
        journal = head.journal
        lastPosition = cursor.position
        if cursor.position == head.firstPosition - 1, ending.end == .closed, gaps.isEmpty {
            // No event came to it: the next one takes its place, or each start would leave a file behind.
            do throws(SystemError) {
                try storage.remove(last.fileName)
            } catch {
                throw JournalError(error, at: path)
            }
            nextNumber = last.number
            lastEnd = head.previousEnd
        } else {
            let closed = try Self.close(last, head, ending, cursor.position, storage, path, durability)
            catalog.append(closed)
            nextNumber = last.number + 1
            lastEnd = closed.byteCount
        }
        self.catalog = catalog
        var torn = 0
        if case .torn(let count) = ending.end { torn = count }
        recovery = JournalRecovery(
            lastPosition: cursor.position,
            wasClosed: ending.end == .closed,
            tornBytes: torn,
            gaps: gaps.filter { gap in
                // Bytes at the end are told as such.
                if case .damaged(_, ending.offset, torn) = gap.reason, torn > 0, gap.positions == nil { return false }
                return true
            }
        )
    }

    /// Puts the record behind the last event that says that nothing follows, and cuts off the rest.
    private static func close(
        _ segment: SegmentCatalog.Segment,
        _ head: SegmentHead,
        _ ending: JournalCursor.Ending,
        _ position: UInt64,
        _ storage: any JournalStorage,
        _ path: String,
        _ durability: JournalDurability
    ) throws(JournalError) -> SegmentCatalog.Segment {
        var end = ending.offset
        do throws(SystemError) {
            if ending.end != .closed, end + EndRecord.byteCount <= head.segmentBytes {
                let file = try storage.open(segment.fileName, forWriting: true)
                let record = UnsafeMutableRawBufferPointer.allocate(byteCount: EndRecord.byteCount, alignment: 8)
                defer { record.deallocate() }
                let length = EndRecord.write(
                    position: position,
                    time: WallClock.now(),
                    into: record,
                    seed: head.seed,
                    at: end
                )
                record.storeBytes(of: length, as: UInt32.self)
                try file.write(UnsafeRawBufferPointer(record), at: end)
                end += EndRecord.byteCount
                try file.truncate(to: end)
                if case .machine = durability { try file.synchronize() }
            }
        } catch {
            throw JournalError(error, at: path)
        }
        return .init(number: segment.number, head: head, mistake: nil, byteCount: max(end, ending.offset))
    }
}
