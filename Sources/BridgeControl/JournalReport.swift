/// The status of the journal that records a host's events, at one moment.
public struct JournalReport: Sendable, Hashable, Codable {
    /// The position of the oldest event that is kept.
    public var firstPosition: UInt64
    /// The position of the newest event; 0 before the first.
    public var lastPosition: UInt64
    /// The position up to which all events are as safe as the journal promises.
    public var safePosition: UInt64
    /// How long events have been waiting to become safe, in milliseconds; nil if all are safe.
    public var unsafeMilliseconds: UInt64?
    /// How many files the journal has.
    public var segments: Int
    /// How many bytes the files take.
    public var bytes: UInt64
    /// Why the journal takes no more events, or lacks the room for its next file; nil if neither is so.
    public var failure: String?
    /// The position of the oldest event that is owed to a worker or kept as a dead letter; nil if there is none.
    ///
    /// The journal keeps this event's file and all later files.
    public var owedPosition: UInt64?
    /// How long ago that event was published, in milliseconds; nil if there is none.
    public var owedMilliseconds: UInt64?

    /// Makes a report.
    public init(
        firstPosition: UInt64,
        lastPosition: UInt64,
        safePosition: UInt64,
        unsafeMilliseconds: UInt64? = nil,
        segments: Int,
        bytes: UInt64,
        failure: String? = nil,
        owedPosition: UInt64? = nil,
        owedMilliseconds: UInt64? = nil
    ) {
        self.firstPosition = firstPosition
        self.lastPosition = lastPosition
        self.safePosition = safePosition
        self.unsafeMilliseconds = unsafeMilliseconds
        self.segments = segments
        self.bytes = bytes
        self.failure = failure
        self.owedPosition = owedPosition
        self.owedMilliseconds = owedMilliseconds
    }

    /// How many events are not safe yet.
    public var lag: UInt64 { lastPosition > safePosition ? lastPosition - safePosition : 0 }
}
