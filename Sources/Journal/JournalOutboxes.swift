import DomainEvents
import JournalFormat
import Locks

/// Serves a host that keeps its workers' outboxes beside the journal.
extension JournalCore {
    /// The directory for the outboxes; nil if the journal is over, or if its files are not kept in a directory whose
    /// file system writes in place.
    var outboxDirectory: String? {
        isOver || !storage.keepsOutboxes ? nil : "\(path)/outboxes"
    }

    /// The newest of the events that has a record; the events are given in the order in which they were received.
    ///
    /// The last event is looked for where its time says that its record should be. If it is not there, everything
    /// behind `position` is searched, from the end on: the clock may have been set.
    ///
    /// Events are recorded in the order in which they were received, so the search ends at the last record with its
    /// event's own attempt. A record with a higher attempt does not end it: a dead letter that was redelivered to the
    /// host may have brought an old event into the journal behind newer ones. (A recovery whose host was killed has
    /// left such records, too, all of them behind the others.)
    ///
    /// This waits until all accepted events are safe.
    ///
    /// - Throws: ``JournalError``. Damage behind the record that ends the search is an error: it may have taken a newer
    ///   record. If no record ends the search, damaged or removed records behind `position` are an error.
    func lastRecorded(of events: [EventContext], after position: UInt64) throws -> RecordIdentity? {
        guard let newest = events.last else { return nil }
        // Records can be read once they are safe; a host before this one may have left some that are not.
        try waitUntilSafe()
        let horizon = horizon.0
        let segments = horizon.catalog.segments
        if let identity = RecordIdentity(newest),
            let likely = horizon.catalog.index(begunBy: newest.nanosecondsSinceEpoch)
        {
            let wanted = [identity: Wanted(place: 0, attempt: newest.attempt)]
            for index in [likely, likely + 1] where index < segments.count {
                let search = try newestPlace(of: wanted, inSegmentAt: index, horizon, after: position)
                if search.place != nil { return identity }
            }
        }
        var wanted: [RecordIdentity: Wanted] = [:]
        for (place, event) in events.enumerated() {
            if let identity = RecordIdentity(event) { wanted[identity] = Wanted(place: place, attempt: event.attempt) }
        }
        var found: Int?
        var isOver = false
        var gap: JournalGap?
        var first: UInt64 = 1
        for index in segments.indices.reversed() {
            // A segment without a head is read together with the segment before it.
            guard let head = segments[index].head else { continue }
            let search = try newestPlace(of: wanted, inSegmentAt: index, horizon, after: position)
            gap = search.gap ?? gap
            if let place = search.place { found = max(place, found ?? place) }
            first = head.firstPosition
            isOver = search.isOver
            if isOver || first - 1 <= position { break }
        }
        if let gap { throw lacks(gap) }
        guard isOver || first - 1 <= position else {
            throw JournalError(
                .damaged,
                "the journal \(path) no longer keeps positions before \(first), where events of the outbox may have been"
            )
        }
        return found.flatMap { RecordIdentity(events[$0]) }
    }

    /// An event that is looked for.
    private struct Wanted {
        /// Its index among the events, in the order in which they were received.
        let place: Int
        let attempt: Int
    }

    private func lacks(_ gap: JournalGap) -> JournalError {
        JournalError(.damaged, "the journal \(path) may lack records of the outbox's events: \(gap)")
    }

    /// The newest of the events with a record between this segment's head and the next head, and a gap if there is one.
    ///
    /// The search is over if one of the records has its event's own attempt. Then the gap lies behind the last of these
    /// records; otherwise it may lie anywhere.
    private func newestPlace(
        of events: [RecordIdentity: Wanted],
        inSegmentAt index: Int,
        _ horizon: JournalCursor.Horizon,
        after position: UInt64
    ) throws -> (place: Int?, isOver: Bool, gap: JournalGap?) {
        let segments = horizon.catalog.segments
        guard let head = segments[index].head else { return (nil, false, nil) }
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
        var place: Int?
        var isOver = false
        var gap: JournalGap?
        repeat {
            var steps = try cursor.read(to: horizon)
            while let step = steps.next() {
                switch step {
                case .gap(let next): gap = next
                case .record(let record):
                    guard record.position < end else { continue }
                    let context = steps.context(of: record)
                    guard let event = RecordIdentity(context).flatMap({ events[$0] }) else { continue }
                    place = max(event.place, place ?? event.place)
                    if context.attempt <= event.attempt { (isOver, gap) = (true, nil) }
                }
            }
        } while !cursor.isAtEnd && cursor.position < end
        return (place, isOver, gap)
    }
}
