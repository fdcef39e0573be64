import DomainEvents
import JournalFormat
import Locks

extension StoredJournal {
    /// Records in a new journal every event that can be read and recorded, in order, with its name, identity, time and
    /// causes.
    ///
    /// The events get new positions, from 1 on. The call returns when they are safe against a power cut.
    /// - Parameters:
    ///   - path: a directory that is not there, is empty, or has another journal, without events. In any other
    ///     directory no file changes.
    ///   - take: called for each place where events are missing, with the positions of this journal.
    /// - Returns: How many events there are in the new journal.
    /// - Throws: ``JournalError`` if no segment's head can be read, or the new journal is not new or cannot be written.
    package func salvage(into path: String, _ take: (JournalGap) -> Void) throws -> UInt64 {
        guard catalog.segments.isEmpty || catalog.journal != nil else {
            throw JournalError(
                .damaged,
                """
                the journal \(self.path) cannot be salvaged, as no head of a segment can be read: the checksums of the \
                events are made with the journal's identity, which only the heads have
                """
            )
        }
        // With this size each event fits into a segment. It comes from files, so it is bounded, and has whole pages.
        let pages = (min(greatestSegment, SegmentHead.largestSegment) + 4_095) / 4_096
        let settings = JournalCore.Settings(
            durability: .machine(within: .seconds(3_600)),
            segmentBytes: max(pages * 4_096, SegmentHead.smallestSegment)
        )
        let place = try JournalPlace(at: path, makes: true)
        try refuseUsed(place)
        return try salvage(into: EventJournal(place.storage, at: path, lock: try place.lock(), settings), take)
    }

    /// Throws if a directory has this journal, or another one with events or damage; only reads the files.
    ///
    /// The opening of a journal for writing cuts off the torn end of its last segment, which may be what the user wants
    /// to salvage. So this check comes before the opening.
    private func refuseUsed(_ place: JournalPlace) throws {
        let found = try StoredJournal(place.storage, at: place.path) { () throws(JournalError) in try place.lock() }
        var isUsed = found.catalog.journal.map { $0 == catalog.journal } ?? false
        if !isUsed {
            // The first event or gap is enough.
            try found.read(after: 0, where: JournalQuery()) { _ in
                isUsed = true
                return false
            }
        }
        guard !isUsed else { throw Self.used(place.path) }
    }

    private static func used(_ path: String) -> JournalError {
        JournalError(
            .unsuitableDirectory,
            "the journal \(path) has events already, or lacks some; expected a new directory"
        )
    }

    /// How large a segment has to be for every event that can be read, in bytes.
    private var greatestSegment: Int {
        // A file without a head may be cut after its last event, but a segment also needs room for the end record.
        catalog.segments.lazy.filter(\.isReadable).map { segment in
            segment.head?.segmentBytes ?? segment.byteCount.saturatingSum(EndRecord.byteCount)
        }.max() ?? 16 << 20
    }

    /// Records every event in a journal without events, and closes that journal, even if the recording fails.
    func salvage(into journal: EventJournal, _ take: (JournalGap) -> Void) throws -> UInt64 {
        let path = journal.core.path
        guard journal.recovery.lastPosition == 0 else { throw Self.used(path) }
        // If the oldest head is gone, reading begins at position 1, so that the gap is reported.
        let first = catalog.segments.first?.head?.firstPosition ?? 1
        // After missing events, bookmarks are left out: with one, its worker would not bring the missing events again.
        var isWhole = true
        do {
            try read(after: first - 1, where: JournalQuery()) { step in
                switch step {
                case .gap(let gap):
                    if gap.mayLackEvents { isWhole = false }
                    take(gap)
                case .event(let record):
                    do throws(JournalError) {
                        try journal.core.take(record, withBookmark: isWhole)
                    } catch {
                        // Another program may have written an event that this one cannot write.
                        guard error.code == .notRecordable else { throw error }
                        isWhole = false
                        take(JournalGap(at: record.position, .undecodable(why: error.description)))
                    }
                }
                return true
            }
            return try journal.core.closeAndWait()
        } catch let error as JournalError {
            let count = journal.status.lastPosition
            _ = try? journal.core.closeAndWait()
            throw JournalError(
                error.code,
                "\(error); the new journal \(path) has only the first \(count) events: remove it before another attempt"
            )
        }
    }
}

extension JournalGap {
    /// Whether events may be missing here, before other events; those that the journal no longer keeps do not count.
    fileprivate var mayLackEvents: Bool {
        switch reason {
        case .removed: false
        // Without positions, the damage is among notes, or at the journal's end, behind which there are no events.
        case .damaged: positions != nil
        case .unreadable, .undecodable: true
        }
    }
}

extension JournalCore {
    /// Records an event of another journal.
    fileprivate func take(_ record: JournalRecord, withBookmark: Bool) throws(JournalError) {
        makeRoom(for: record.payload.count)
        let context = withBookmark ? record.context : record.context.withoutBookmark
        _ = try append(record.payload, name: record.name, context: context, whenSettled: nil)
    }

    /// Makes all events safe, closes the files, and returns the last position; the calling thread waits.
    fileprivate func closeAndWait() throws -> UInt64 {
        close()
        let baton = Baton()
        whenClosed { baton.handOver() }
        baton.take()
        if case .failed(let error) = lock.withLock({ state.phase }) { throw error }
        return status.lastPosition
    }
}
