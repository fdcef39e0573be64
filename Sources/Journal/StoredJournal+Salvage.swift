import JournalFormat
import Locks

extension StoredJournal {
    /// Records every event that can be read in a new journal, in order, with its name, identity, time and causes.
    ///
    /// The events get new positions, from 1 on. The call returns when they are safe against a power cut.
    /// - Parameters:
    ///   - path: a directory that is not there, or has a journal without events.
    ///   - take: called for each place where events are missing, with the positions of this journal.
    /// - Returns: How many events there are in the new journal.
    package func salvage(into path: String, _ take: (JournalGap) -> Void) throws -> UInt64 {
        let greatest = catalog.segments.compactMap(\.head?.segmentBytes).max() ?? 16 << 20
        // Each event then fits into a segment. The number comes from the files, and a segment has whole pages.
        let pages = (min(greatest, SegmentHead.largestSegment) + 4_095) / 4_096
        let journal = try EventJournal(
            at: path,
            durability: .machine(within: .seconds(3_600)),
            segmentBytes: max(pages * 4_096, SegmentHead.smallestSegment)
        )
        guard journal.recovery.lastPosition == 0 else {
            throw JournalError(.unsuitableDirectory, "the journal \(path) has events already; expected a new directory")
        }
        // If the oldest head is gone, reading begins at position 1, so that the gap is reported.
        let first = catalog.segments.first?.head?.firstPosition ?? 1
        try read(after: first - 1, where: JournalQuery()) { step in
            switch step {
            case .gap(let gap): take(gap)
            case .event(let record):
                journal.core.makeRoom(forPayload: record.payload.count)
                _ = try journal.core.append(
                    record.payload,
                    name: record.name,
                    context: record.context,
                    whenSettled: nil
                )
            }
            return true
        }
        return try journal.core.closeAndWait()
    }
}

extension JournalCore {
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
