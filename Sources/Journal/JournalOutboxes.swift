import DomainEvents
import JournalFormat
import Locks

/// Serves a host that keeps its workers' outboxes beside the journal.
extension JournalCore {
    /// The directory for the outboxes; nil if the journal is closed, or if its files are not kept in a directory whose
    /// file system writes in place.
    var outboxDirectory: String? {
        let isOpen = lock.withLock { if case .open = state.phase { true } else { false } }
        return isOpen && storage.keepsOutboxes ? "\(path)/outboxes" : nil
    }

    /// Which of the events, given in the order in which they were received, was recorded last.
    ///
    /// The newest event is looked for where its time says that it should be. If it is not there, everything behind
    /// `position` is searched, from the end on: the clock may have been set.
    ///
    /// This waits until all accepted events are safe.
    ///
    /// - Throws: ``JournalError``. Damage behind the record that was found is an error: it may have taken a newer
    ///   record. If no record was found, damaged or removed records behind `position` are an error.
    func lastRecorded(of events: [EventContext], after position: UInt64) throws -> RecordIdentity? {
        guard let newest = events.last else { return nil }
        // Records can be read once they are safe; a host before this one may have left some that are not.
        try waitUntilSafe()
        let horizon = horizon.0
        let segments = horizon.catalog.segments
        if let identity = RecordIdentity(newest),
            let likely = horizon.catalog.index(begunBy: newest.nanosecondsSinceEpoch)
        {
            for index in [likely, likely + 1] where index < segments.count {
                let search = try last(of: [identity], inSegmentAt: index, horizon, after: position)
                if search.found != nil { return identity }
            }
        }
        let wanted = Set(events.compactMap(RecordIdentity.init))
        var gap: JournalGap?
        var first: UInt64 = 1
        for index in segments.indices.reversed() {
            // A segment without a head is read together with the segment before it.
            guard let head = segments[index].head else { continue }
            let search = try last(of: wanted, inSegmentAt: index, horizon, after: position)
            gap = search.gap ?? gap
            if let found = search.found {
                if let gap { throw lacks(gap) }
                return found
            }
            first = head.firstPosition
            if first - 1 <= position { break }
        }
        if let gap { throw lacks(gap) }
        guard first - 1 <= position else {
            throw JournalError(
                .damaged,
                "the journal \(path) no longer keeps positions before \(first), where events of the outbox may have been"
            )
        }
        return nil
    }

    private func lacks(_ gap: JournalGap) -> JournalError {
        JournalError(.damaged, "the journal \(path) may lack records of the outbox's events: \(gap)")
    }

    /// The last of the events with a record between this segment's head and the next head, and a gap if there is one.
    ///
    /// The gap lies behind that record; if no event was found, the gap may lie anywhere.
    private func last(
        of events: Set<RecordIdentity>,
        inSegmentAt index: Int,
        _ horizon: JournalCursor.Horizon,
        after position: UInt64
    ) throws -> (found: RecordIdentity?, gap: JournalGap?) {
        let segments = horizon.catalog.segments
        guard let head = segments[index].head else { return (nil, nil) }
        let end = segments[(index + 1)...].lazy.compactMap(\.head).first?.firstPosition ?? .max
        let begin = max(head.firstPosition - 1, position)
        // A record that cannot be read is an error, because it may be the one that is looked for.
        let cursor = JournalCursor(
            storage,
            at: path,
            after: begin,
            filter: RecordFilter(JournalQuery()),
            skipsUnreadable: false
        )
        var found: RecordIdentity?
        var gap: JournalGap?
        repeat {
            var steps = try cursor.read(to: horizon)
            while let step = steps.next() {
                switch step {
                case .gap(let next): gap = next
                case .record(let record):
                    guard record.position < end, let identity = RecordIdentity(steps.context(of: record)),
                        events.contains(identity)
                    else { continue }
                    (found, gap) = (identity, nil)
                }
            }
        } while !cursor.isAtEnd && cursor.position < end
        return (found, gap)
    }
}
