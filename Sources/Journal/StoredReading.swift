/// One reading of a stored journal, step by step: each event and each gap comes once.
package final class StoredReading {
    private let journal: StoredJournal
    private let cursor: JournalCursor
    /// The portion that was read last.
    private var steps = StoredSteps()

    /// The position up to which the files were read; events before it may still come from ``next()``.
    package var position: UInt64 { cursor.position }

    /// Whether events may be missing after the last one that was found, and nothing says how many.
    package var lacksEnd: Bool { cursor.lacksEnd }

    init(_ journal: StoredJournal, _ storage: any JournalStorage, after position: UInt64, _ filter: RecordFilter) {
        self.journal = journal
        cursor = JournalCursor(storage, at: journal.path, after: position, filter: filter, skipsUnreadable: true)
    }

    /// The next event or gap; nil at the end of what the journal had when its files were listed.
    ///
    /// - Throws: ``JournalError`` if the files cannot be read any further; another call tries again at the same place.
    package func next() throws(JournalError) -> JournalStep<JournalRecord>? {
        while true {
            switch steps.next() {
            case .record(let record): return .event(steps.copy(record))
            case .gap(let gap): return .gap(gap)
            case nil:
                if cursor.isAtEnd { return nil }
                if cursor.isOutdated { try journal.readCatalog() }
                steps = try cursor.read(to: .init(catalog: journal.catalog, end: nil))
            }
        }
    }
}
