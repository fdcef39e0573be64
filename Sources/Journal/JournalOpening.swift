import BridgePlatform
import JournalFormat
import Locks

/// The content of a journal's directory when a process opens the journal for writing, and where the journal goes on.
struct JournalOpening {
    /// The segments before the next one, and which events are owed to which receivers.
    let room: OpeningRoom
    /// The journal's identity.
    let journal: UInt64
    let nextNumber: UInt64
    /// Whether the next segment replaces the last one, which has no events and no notes, under the same number.
    let isReplacement: Bool
    let lastPosition: UInt64
    /// Where the records of the segment before the next one end; 0 if there is no such segment.
    let lastEnd: Int
    let recovery: JournalRecovery
    /// The last bookmark of each worker.
    let bookmarks: BookmarkTable

    /// The bound for numbers and positions in files; with it, the numbers that follow them cannot overflow.
    private static let highest: UInt64 = 1 << 62

    /// Reads all heads, the last segment and maybe earlier ones, and closes the last: the journal goes on in a new one.
    ///
    /// This needs no room in a file system that writes in place. In others, an end record that finds no room is left
    /// out. If events have to be safe against a power cut, this call also writes an unclosed last segment once more and
    /// synchronizes all segments. Where that finds no room, the oldest segments go if the policy allows it.
    init(_ storage: any JournalStorage, at path: String, _ settings: JournalCore.Settings) throws(JournalError) {
        let catalog = try SegmentCatalog(of: storage, at: path, skipsUnreadable: false)
        do throws(SystemError) {
            // Removes files that were made ahead and hold nothing.
            for name in catalog.unused + [SegmentCatalog.unfinishedName] { try storage.remove(name) }
        } catch {
            throw JournalError(error, at: path)
        }
        guard let last = catalog.segments.last else {
            room = OpeningRoom(catalog, CustodyLedger(), at: path, settings, nextPosition: 1)
            journal = Randomness.nextIncarnation()
            bookmarks = BookmarkTable()
            (nextNumber, lastPosition, lastEnd, isReplacement) = (1, 0, 0, false)
            recovery = JournalRecovery(lastPosition: 0, wasClosed: true, tornBytes: 0, gaps: [])
            return
        }
        // Reading begins with the last segment that has a head: only a head says at which position its segment begins.
        guard let head = catalog.segments.lazy.compactMap(\.head).last, last.number < Self.highest, last.isReadable
        else { throw Self.damaged(last, at: path) }
        let (cursor, gaps) = try JournalCursor.gathering(storage, at: path, catalog, from: head)
        guard let ending = cursor.ending, cursor.position < Self.highest else {
            throw JournalError(.damaged, "the journal \(path): \(last.fileName): its positions are too high")
        }
        let isEmpty = cursor.position < (last.head?.firstPosition ?? cursor.reached) && !cursor.hasNotes
        // The segment may have held events, whose positions no later event may get.
        if isEmpty, case .damaged = last.reading { throw Self.damaged(last, at: path) }
        let safe = catalog.safeIndex.flatMap { catalog.segments[$0].head } ?? head
        let read = safe == head ? cursor : try JournalCursor.gathering(storage, at: path, catalog, from: safe).cursor
        bookmarks = try BookmarkRecovery.read(storage, at: path, catalog, fromSafe: read)
        var room = OpeningRoom(
            catalog,
            try CustodyRecovery.read(storage, at: path, catalog, safe, fromSafe: read),
            at: path,
            settings,
            nextPosition: cursor.position + 1
        )
        journal = head.journal
        lastPosition = cursor.position
        isReplacement = isEmpty && last.head != nil && gaps.isEmpty
        if isReplacement {
            // The last segment has no events and no notes. It is replaced, or else each start would leave a file.
            // Until the new file is complete, the old file says at which position the journal is.
            room.removeLast()
            nextNumber = last.number
            lastEnd = head.previousEnd
        } else {
            let byteCount = try Self.close(last, ending, cursor.position, storage, settings.durability, &room)
            room.removeLast()
            room.append(.init(number: last.number, reading: last.reading, byteCount: byteCount ?? last.byteCount))
            nextNumber = last.number + 1
            lastEnd = byteCount ?? ending.offset
        }
        try room.makeSafe(in: storage)
        self.room = room
        var torn = 0
        if case .torn(let count) = ending.end { torn = count }
        recovery = JournalRecovery(
            lastPosition: cursor.position,
            wasClosed: ending.end == .closed,
            tornBytes: torn,
            gaps: gaps.filter { gap in
                // Torn bytes at the end are counted in `tornBytes`.
                if case .damaged(_, ending.offset, torn) = gap.reason, torn > 0, gap.positions == nil { return false }
                return true
            }
        )
    }

    private static func damaged(_ segment: SegmentCatalog.Segment, at path: String) -> JournalError {
        JournalError(
            .damaged,
            """
            the journal \(path): \(segment.fileName): \(segment.mistake ?? "its number is too high"); move the file \
            elsewhere to go on without its events
            """
        )
    }

    /// Closes the last segment; if it has to be safe, makes it safe.
    ///
    /// - Returns: The new size of the file; nil if the file stays as it is.
    private static func close(
        _ segment: SegmentCatalog.Segment,
        _ ending: JournalCursor.Ending,
        _ position: UInt64,
        _ storage: any JournalStorage,
        _ durability: JournalDurability,
        _ room: inout OpeningRoom
    ) throws(JournalError) -> Int? {
        guard ending.end != .closed else { return nil }
        while true {
            do throws(SystemError) {
                let file = try storage.open(segment.fileName, forWriting: true)
                if case .machine = durability {
                    try writeBack(file, upTo: ending.offset)
                    try file.synchronize()
                }
                return try segment.head.flatMap { (head) throws(SystemError) in
                    try writeEnd(file, head, at: ending.offset, position)
                }
            } catch {
                try room.makeRoom(after: error, in: storage)
            }
        }
    }

    /// Writes the end record after the last record, and cuts off the rest of the file.
    ///
    /// If the segment or the file system has no room for the record, the file keeps its size, and this returns nil. On
    /// a full file system a part of the record may have been written. The next segment's head says where the records
    /// end, as for a file whose head is gone.
    private static func writeEnd(
        _ file: any JournalFile,
        _ head: SegmentHead,
        at offset: Int,
        _ position: UInt64
    ) throws(SystemError) -> Int? {
        let end = offset + EndRecord.byteCount
        guard end <= head.segmentBytes else { return nil }
        let record = UnsafeMutableRawBufferPointer.allocate(byteCount: EndRecord.byteCount, alignment: 8)
        defer { record.deallocate() }
        let length = EndRecord.write(
            position: position,
            time: WallClock.now(),
            into: record,
            seed: head.seed,
            at: offset
        )
        record.storeBytes(of: length, as: UInt32.self)
        do throws(SystemError) {
            try file.write(UnsafeRawBufferPointer(record), at: offset)
            try file.truncate(to: end)
        } catch {
            guard error.isFullDisk else { throw error }
            return nil
        }
        return end
    }

    /// Writes a file's bytes once more, each to its own place.
    ///
    /// After a failed synchronization, the system may count the file's pages as written. Reads still return the pages,
    /// but another synchronization would not write them.
    private static func writeBack(_ file: any JournalFile, upTo end: Int) throws(SystemError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var done = 0
        while done < end {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, end - done)])
            let count = try file.read(at: done, into: part)
            guard count > 0 else { return }
            try file.write(UnsafeRawBufferPointer(rebasing: part[..<count]), at: done)
            done += count
        }
    }
}

extension JournalCursor {
    /// A cursor that has gathered bookmarks and debts from one segment of a journal on, and the gaps that it has found.
    static func gathering(
        _ storage: any JournalStorage,
        at path: String,
        _ catalog: SegmentCatalog,
        from head: SegmentHead
    ) throws(JournalError) -> (cursor: JournalCursor, gaps: [JournalGap]) {
        let cursor = JournalCursor(
            storage,
            at: path,
            after: head.firstPosition - 1,
            filter: .nothing,
            skipsUnreadable: false
        )
        cursor.notesBookmarks = true
        cursor.custody = CustodyLedger()
        return (cursor, try cursor.readToEnd(of: catalog))
    }

    /// Reads everything up to the end of the last segment, and returns the gaps.
    @discardableResult
    func readToEnd(of catalog: SegmentCatalog) throws(JournalError) -> [JournalGap] {
        var gaps: [JournalGap] = []
        repeat {
            for case .gap(let gap) in try read(to: .init(catalog: catalog, end: nil)) { gaps.append(gap) }
        } while !isAtEnd
        return gaps
    }
}
