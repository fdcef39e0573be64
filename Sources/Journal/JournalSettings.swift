/// What the events of a journal are safe against.
public enum JournalDurability: Sendable, Hashable {
    /// Against the death of this process and of all others by any signal, once `publish`, or the transaction around it,
    /// has ended.
    ///
    /// A power cut, or a crash of the operating system, takes the events that the system had not written to the disk.
    case process

    /// Against a power cut as well, once the event has been synchronized; events are synchronized in groups.
    ///
    /// `publish` does not wait for the synchronization. Outside transactions, the calls of this process to `send`,
    /// `deliver`, `request` and ``EventJournal/synchronize()`` return after it. Only then do this process's readers see
    /// an event, and do workers learn that their events were handled. If no caller waits, the synchronization of a
    /// group is due when the time `within` has passed since its first event. Notes of what workers have settled are
    /// synchronized with the events, or by themselves, at most once a second.
    case machine(within: Duration)
}

/// How much of the past a journal keeps; when it makes a segment, it removes whole old segments, the oldest first.
public struct JournalRetention: Sendable, Hashable {
    /// How many bytes the files take at most, including the segment that is made ahead; nil for no limit.
    public var bytes: Int?

    /// The greatest age of events, nil for no limit; a segment is removed when all its events are older.
    public var age: Duration?

    /// Makes the limits; by default there are none.
    ///
    /// These limits leave at least three segments: the one being written, the one before it, and the one made ahead.
    /// They also leave each segment with an event that is owed or kept as a dead letter, and all later segments.
    public init(bytes: Int? = nil, age: Duration? = nil) {
        self.bytes = bytes
        self.age = age
    }

    /// Nothing is removed, unless `whenFull: .removeOldest` needs the room.
    public static let everything = JournalRetention()
}

/// What a journal does if the file system has no room for another segment.
public enum JournalFullPolicy: Sendable, Hashable {
    /// The journal takes no more events until there is room: `deliver` throws, and `publish` leads to `HandlerFailed`.
    case refuse
    /// The journal removes its oldest segment to make the new one. A reader that had not read the oldest segment yet
    /// gets a gap.
    ///
    /// An open journal keeps a segment with an event that is owed to a worker or kept as a dead letter, and refuses new
    /// events instead. If the journal is opened on a full disk, even such segments are removed: see
    /// ``JournalRecovery/unprotectedEvents``.
    case removeOldest
}
