/// What a journal is at a moment.
public struct JournalStatus: Sendable, Hashable {
    /// The position of the oldest event that is kept; one more than ``lastPosition`` if there is none.
    public let firstPosition: UInt64

    /// The position of the newest event; 0 before the first.
    public let lastPosition: UInt64

    /// Up to which position all events are as safe as was asked for.
    public let safePosition: UInt64

    /// For how long there have been events that are not safe yet; nil if there are none.
    public let unsafeFor: Duration?

    /// How many segments there are.
    public let segments: Int

    /// How many bytes the files take, with the segment that was made ahead.
    public let bytes: Int
}

/// What a journal found of the one before it when it was opened.
public struct JournalRecovery: Sendable, Hashable {
    /// The position of the last event that was found; 0 if there was none.
    public let lastPosition: UInt64

    /// Whether the journal had been closed; if not, its process was killed, or the machine went down.
    public let wasClosed: Bool

    /// How many bytes at the end were the beginning of a record that was not finished.
    public let tornBytes: Int

    /// Where events of the last segment are missing, or its head is.
    public let gaps: [JournalGap]
}
