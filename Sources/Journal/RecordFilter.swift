import JournalFormat

/// A query with its texts as bytes, so that most records are left out without being decoded.
struct RecordFilter: Sendable {
    private let names: [[UInt8]]
    private let origin: [UInt8]?
    private let query: JournalQuery
    private var wantsNothing = false

    /// A filter that leaves out all events, for a reader that only wants to know where events are missing.
    static let nothing: RecordFilter = {
        var filter = RecordFilter(JournalQuery())
        filter.wantsNothing = true
        return filter
    }()

    init(_ query: JournalQuery) {
        self.query = query
        names = query.names.map { Array($0.utf8) }
        origin = query.origin.map { Array($0.utf8) }
    }

    func wants(_ record: RecordView) -> Bool {
        if wantsNothing { return false }
        if !names.isEmpty, !isNamed(record) { return false }
        if let since = query.since, record.time < since { return false }
        if let until = query.until, record.time >= until { return false }
        if let origin, !origin.withUnsafeBytes(record.isFrom) { return false }
        return true
    }

    private func isNamed(_ record: RecordView) -> Bool {
        for name in names where name.withUnsafeBytes(record.isNamed) { return true }
        return false
    }
}
