import BridgePlatform
import DomainEvents
import JournalFormat
import Locks

/// Reads what is owed to whom when a journal is opened.
enum CustodyRecovery {
    /// Reads a journal's events and notes, beginning with the oldest event that a head says is owed.
    ///
    /// - Parameters:
    ///   - catalog: all segments.
    ///   - last: a cursor that has read the segments from the last head on, and has gathered what they say.
    static func read(
        _ storage: any JournalStorage,
        at path: String,
        _ catalog: SegmentCatalog,
        last cursor: JournalCursor
    ) throws(JournalError) -> CustodyLedger {
        let heads = catalog.segments.compactMap(\.head)
        // If a segment was begun unsafe, a power cut may have taken notes before it: its head proves nothing.
        guard let last = heads.last(where: \.isBegunSafe) ?? heads.first, let first = heads.first else {
            return CustodyLedger()
        }
        if last == heads.last, last.owedFrom == 0, let read = cursor.custody { return read }
        let begin = last.owedFrom > 0 ? last.owedFrom : last.firstPosition
        // The user may have removed segments that held owed events.
        let cursor = JournalCursor(storage, at: path, after: max(begin, first.firstPosition) - 1, filter: .nothing)
        cursor.custody = CustodyLedger()
        repeat { _ = try cursor.read(to: .init(catalog: catalog, end: nil)) } while !cursor.isAtEnd
        return cursor.custody ?? CustodyLedger()
    }
}

extension JournalCore {
    /// Writes notes; a note for which there is no room waits for the next segment.
    ///
    /// No caller waits: notes come from the journal's own thread as well, and only that thread makes segments.
    func note(_ notes: [CustodyNote]) { lock.withLock { take(notes) } }

    /// Writes notes, or lets them wait; called with the lock held.
    ///
    /// The ledger is told at once: an event that is settled keeps no segment, even if a full disk has no room for the
    /// note. If the event's segment goes, the debt goes with it.
    func take(_ notes: [CustodyNote]) {
        for note in notes {
            custody.noted(note)
            if !unwritten.isEmpty || !write(note) { unwritten.add(note) }
        }
        writeNotes()
    }

    /// Writes the notes that wait, as far as there is a segment for them; called with the lock held.
    func writeNotes() {
        defer { state.notesWait = !unwritten.isEmpty }
        // A note that waits for a segment is not encoded once more for each note behind it.
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
        do throws(JournalError) {
            // Once the next head is stored, a record in this segment would lie behind the end that the head names.
            while spare?.head != nil || !writer.hasRoom(forStride: record.stride) {
                guard spare != nil else {
                    needSegment()
                    return false
                }
                try enterNextSegment()
            }
            let written = Result { () throws(SystemError) in
                try writer.append(record, position: state.accepted.position)
            }
            if case .failure(let error) = written { throw noRoom(error) ?? fail(error) }
            if state.noteWritten(end: writer.offset, at: MonotonicClock.now) { work.signal() }
        } catch {
            if error.code == .full { return false }
            // The files say that the event is still owed: the next host delivers it once more.
        }
        return true
    }

    func takeOwed() -> [OwedEvent] { lock.withLock { custody.takeOwed() } }
}

extension CustodyLedger {
    /// An event was read from the files.
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

    /// Whether an event that lies before this segment is owed to a receiver or kept as a dead letter.
    func isOwed(before next: SegmentCatalog.Segment) -> Bool {
        guard let owed = lowestPosition else { return false }
        // Without a head, nothing says which events lie before the segment.
        return next.head.map { owed < $0.firstPosition } ?? true
    }
}
