import BridgePlatform
import DomainEvents

extension EventJournal {
    /// Builds a state from the recorded events, follows the journal, and keeps the state and its position in a file.
    ///
    /// If the file has a state of the present revision, the projection continues from the file's position. The call
    /// reads the file, and one segment of the journal (rarely more) up to the event at this position. The projection
    /// then reads the later events at its own pace. Make the call on a thread that may wait for the disk.
    /// - Parameters:
    ///   - fresh: the state before the first event, used if there is no file or the file's revision is lower.
    ///   - path: the file; its directory must exist. A file of the same name with `.lock` at the end lies beside it,
    ///     and during a save another with `.unfinished`. All are made so that only this user may read them.
    ///   - saving: how often the state is saved.
    /// - Throws: ``JournalError`` if the file is damaged, in use, of a later revision, or of another projection or
    ///   journal; if it is ahead of the journal, or the journal has another event at the file's position; or if the
    ///   operating system refused something. If you remove the file, the state is built from the journal again.
    public func project<State: Projection>(
        _ fresh: State,
        keptIn path: String,
        saving: ProjectionSaving = ProjectionSaving()
    ) throws(JournalError) -> RunningProjection<State> {
        try project(fresh, keptIn: try ProjectionFile(at: path), saving: saving)
    }

    package func project<State: Projection>(
        _ fresh: State,
        keptIn name: String,
        of storage: any JournalStorage,
        saving: ProjectionSaving
    ) throws(JournalError) -> RunningProjection<State> {
        try project(fresh, keptIn: ProjectionFile(storage, name: name, path: name, lock: nil), saving: saving)
    }

    private func project<State: Projection>(
        _ fresh: State,
        keptIn file: ProjectionFile,
        saving: ProjectionSaving
    ) throws(JournalError) -> RunningProjection<State> {
        let rules = ProjectionRules<State>()
        precondition(!rules.names.isEmpty, "the projection \(State.projectionName) names no events")
        let saved = try file.read(State.self, journal: core.identity)
        if let saved { try check(saved.head, file) }
        let head = ProjectionFile.Head(
            projection: State.projectionName,
            revision: State.revision,
            journal: core.identity,
            position: 0,
            last: nil
        )
        let start = saved ?? ProjectionFile.Content(head: head, state: fresh)
        var query = JournalQuery()
        query.names = rules.names.map(\.text)
        let reading = JournalReading(core, query, after: start.head.position, follows: true, checksPayloads: true)
        return RunningProjection(reading, file, start, saving)
    }

    /// Checks that a saved state follows from this journal as it is now.
    private func check(_ head: ProjectionFile.Head, _ file: ProjectionFile) throws(JournalError) {
        // A reader gets only safe events, so no state is ahead of them.
        let reached = core.status.safePosition
        guard head.position <= reached else {
            throw file.error(
                .positionAhead,
                "it is at position \(head.position), and the journal \(core.path) at \(reached): one is an older copy"
            )
        }
        for position in Set([head.position, head.last?.position ?? head.position]).sorted() where position > 0 {
            guard let found = try core.mark(at: position), found != head.last else { continue }
            let what =
                head.last?.position == position
                ? "another event at position \(position)"
                : "an event at position \(position), where none could be read before"
            throw file.error(
                .foreign,
                """
                the journal \(core.path) has \(what): one of the two is an older copy, or a power cut took events from \
                the journal
                """
            )
        }
    }
}

extension JournalCore {
    /// Which event the files have at a position; nil if it is no longer there, is not safe yet, or cannot be read.
    fileprivate func mark(at position: UInt64) throws(JournalError) -> RecordMark? {
        let cursor = JournalCursor(
            storage,
            at: path,
            after: position - 1,
            filter: RecordFilter(JournalQuery()),
            skipsUnreadable: true
        )
        let (horizon, _) = horizon
        while true {
            let steps = try cursor.read(to: horizon)
            // The record's bytes lie in `steps`.
            defer { withExtendedLifetime(steps) {} }
            for step in steps {
                switch step {
                case .record(let record): return record.position == position ? RecordMark(record.view) : nil
                case .gap(let gap) where gap.positions != nil: return nil
                // A head that cannot be read makes a gap without positions; the event may still follow.
                case .gap: continue
                }
            }
            if cursor.isAtEnd || cursor.isOutdated { return nil }
        }
    }
}
