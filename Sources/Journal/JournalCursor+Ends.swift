import JournalFormat

extension JournalCursor {
    /// How the last segment ends, and where.
    struct Ending {
        let offset: Int
        let end: SegmentEnd
    }

    /// How far a journal can be read at the moment.
    struct Horizon: Sendable {
        let catalog: SegmentCatalog
        /// Where the records of the last segment end; nil if only the segment's own bytes say where.
        let end: Int?
        /// The position of the last event before ``end``; nil if only the segment's own bytes say which one it is.
        var last: UInt64?
    }
}
