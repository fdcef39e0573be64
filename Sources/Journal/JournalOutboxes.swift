import DomainEvents
import JournalFormat
import Locks

/// What a host needs that keeps its workers' outboxes beside the journal.
extension JournalCore {
    /// The directory for the outboxes; nil if the journal is closed, or if its files are not kept in a directory whose
    /// file system writes in place.
    var outboxDirectory: String? {
        let isOpen = lock.withLock { if case .open = state.phase { true } else { false } }
        return isOpen && storage.keepsOutboxes ? "\(path)/outboxes" : nil
    }

    /// Which of the events, given in the order in which they were received, was recorded last.
    ///
    /// The newest event is looked for where its time says that it should be. Only if it is not there, everything behind
    /// `position` is searched, from the end on: the clock may have been set.
    func lastRecorded(of events: [PublishedEvent], after position: UInt64) throws -> EventID? {
        guard let newest = events.last else { return nil }
        let horizon = horizon.0
        let segments = horizon.catalog.segments
        if let likely = horizon.catalog.index(begunBy: newest.time) {
            for index in [likely, likely + 1] where index < segments.count {
                if try last(of: [newest.id], inSegmentAt: index, horizon, after: position) != nil { return newest.id }
            }
        }
        let wanted = Set(events.map(\.id))
        for index in segments.indices.reversed() {
            // A segment without a head is read together with the segment before it.
            guard let head = segments[index].head else { continue }
            if let found = try last(of: wanted, inSegmentAt: index, horizon, after: position) { return found }
            if head.firstPosition - 1 <= position { break }
        }
        return nil
    }

    /// The last of the events that has a record in the segment, or behind it up to the next segment with a head.
    private func last(
        of events: Set<EventID>,
        inSegmentAt index: Int,
        _ horizon: JournalCursor.Horizon,
        after position: UInt64
    ) throws -> EventID? {
        let segments = horizon.catalog.segments
        guard let head = segments[index].head else { return nil }
        let end = segments[(index + 1)...].lazy.compactMap(\.head).first?.firstPosition ?? .max
        let begin = max(head.firstPosition - 1, position)
        // A record that cannot be read may be the one that is looked for.
        let cursor = JournalCursor(
            storage,
            at: path,
            after: begin,
            filter: RecordFilter(JournalQuery()),
            skipsUnreadable: false
        )
        var found: EventID?
        repeat {
            for case .record(let record) in try cursor.read(to: horizon) where record.position < end {
                if events.contains(record.context.id) { found = record.context.id }
            }
        } while !cursor.isAtEnd && cursor.position < end
        return found
    }
}
