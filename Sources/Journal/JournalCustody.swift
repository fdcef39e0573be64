import BridgePlatform
import DomainEvents
import JournalFormat
import Locks

/// Reads which events are owed to which receivers when a journal is opened.
enum CustodyRecovery {
    /// Reads a journal's events and notes, beginning with the oldest event that is owed according to a head.
    ///
    /// - Parameters:
    ///   - catalog: all segments.
    ///   - safe: that head, of the segment at the catalog's `safeIndex`. Later heads do not count: a power cut may have
    ///     taken notes before them.
    ///   - fromSafe: a cursor that has gathered what the segments say, from that segment on.
    static func read(
        _ storage: any JournalStorage,
        at path: String,
        _ catalog: SegmentCatalog,
        _ safe: SegmentHead,
        fromSafe: JournalCursor
    ) throws(JournalError) -> CustodyLedger {
        if safe.owedFrom == 0, let read = fromSafe.custody { return read }
        // Segments with owed events are removed if the user trims the journal, or opens it on a full disk.
        let begin = max(safe.owedFrom, catalog.firstPossiblePosition)
        let cursor = JournalCursor(
            storage,
            at: path,
            after: begin - 1,
            filter: .nothing,
            skipsUnreadable: false
        )
        cursor.custody = CustodyLedger()
        try cursor.readToEnd(of: catalog)
        return cursor.custody ?? CustodyLedger()
    }
}

extension JournalCore {
    /// Writes a note; a note for which there is no room waits for the next segment.
    ///
    /// No caller waits: notes come from the journal's own thread as well, and only that thread makes segments.
    func note(_ note: CustodyNote) { lock.withLock { take(note) } }

    /// Writes a note, or lets it wait; called with the lock held.
    ///
    /// The ledger learns of a note at once. So a settled event keeps no segment, even if a full disk has no room for
    /// the note; once the event's segment is removed, no file says that the event is owed.
    func take(_ note: CustodyNote) {
        custody.noted(note)
        if unwritten.isEmpty, write(note) { return }
        unwritten.add(note)
        writeNotes()
    }

    /// Writes the notes that wait, as far as there is a segment for them; called with the lock held.
    func writeNotes() {
        defer { state.notesWait = !unwritten.isEmpty }
        // A note that waits for a segment is not encoded once more for each note after it.
        if unwritten.needSegment, spare == nil { return needSegment() }
        unwritten.needSegment = false
        var done = 0
        for note in unwritten.notes {
            guard write(note) else { break }
            done += 1
        }
        unwritten.removeFirst(done)
    }

    private func needSegment() {
        unwritten.needSegment = true
        state.spareNeeded(at: MonotonicClock.now())
        work.signal()
    }

    /// - Returns: Whether the note was written or is lost; false if it waits for the next segment, or for room.
    private func write(_ note: CustodyNote) -> Bool {
        guard state.takesNotes else { return true }
        let record = NoteRecord(note)
        let stride = record.stride
        do throws(JournalError) {
            while !writer.hasRoom(forStride: stride) {
                guard spare != nil else {
                    needSegment()
                    return false
                }
                try enterNextSegment()
            }
            try write { () throws(SystemError) in try writer.append(record, position: state.accepted.position) }
            if state.noteWritten(end: writer.offset, at: MonotonicClock.now) { work.signal() }
        } catch {
            if error.code == .full { return false }
            // The files lack the note: the next host may deliver the event once more.
        }
        return true
    }

    func takeOwed() -> [OwedEvent] { lock.withLock { custody.takeOwed() } }
}

extension CustodyLedger {
    /// Takes in an event that was read from the files.
    mutating func recorded(_ view: RecordView) {
        guard let (context, owed, payload) = view.owedEvent() else { return }
        let record = JournalRecord(
            position: view.position,
            name: view.name,
            context: context,
            payload: Array(payload)
        )
        recorded(
            context.id,
            at: view.position,
            published: context.nanosecondsSinceEpoch,
            owedTo: owed,
            as: record
        )
    }

    /// Whether an event of a catalog's oldest segment may be owed to a receiver or kept as a dead letter.
    func isOwedInOldest(of catalog: SegmentCatalog) -> Bool {
        guard let owed = lowestPosition else { return false }
        // Without another head, nothing says which events the segment has.
        return catalog.headBehindOldest.map { owed < $0.firstPosition } ?? true
    }
}
