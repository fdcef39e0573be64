/// A journal's positions and sizes at one moment.
public struct JournalStatus: Sendable, Hashable {
    /// The position of the oldest event that is kept; one more than ``lastPosition`` if no event is kept.
    public let firstPosition: UInt64

    /// The position of the newest event; 0 before the first event.
    public let lastPosition: UInt64

    /// The position up to which all events are as safe as the journal's durability promises.
    public let safePosition: UInt64

    /// How long events have been waiting to become safe; nil if all are safe.
    public let unsafeFor: Duration?

    /// How many segments there are, without the one that was made ahead.
    public let segments: Int

    /// How many bytes the files take, including the segment that was made ahead.
    public let bytes: Int
}

/// What a journal found in its directory when it was opened.
public struct JournalRecovery: Sendable, Hashable {
    /// The position of the last event that was found; 0 if no event was found.
    public let lastPosition: UInt64

    /// Whether the journal had been closed, or is new; if false, its process was killed, the machine went down, or a
    /// write failed.
    public let wasClosed: Bool

    /// How many bytes at the end of the last file are no whole record, up to the last byte that is not zero; 0 if the
    /// file ends with a whole record.
    public let tornBytes: Int

    /// The gaps in the last segment with a head and in the segments after it: missing events, and missing heads.
    public let gaps: [JournalGap]

    /// How many events that are owed to workers, or kept as dead letters, lay in segments that were removed to open the
    /// journal on a full disk.
    ///
    /// Only `whenFull: .removeOldest` allows that. The next host of this process still gets these events; if that host
    /// ends before they are settled, no later host gets them.
    public internal(set) var unprotectedEvents = 0
}
