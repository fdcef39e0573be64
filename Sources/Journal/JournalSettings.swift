/// Against what the events of a journal are safe.
public enum JournalDurability: Sendable, Hashable {
    /// Against the death of this process and of all others by any signal, from the moment that `publish` returns.
    ///
    /// A power cut, or a crash of the operating system, takes what the system had not yet written by itself.
    case process

    /// Against a power cut as well, once the event was synchronized with others in a group.
    ///
    /// `publish` does not wait. Those who wait return behind the synchronization: `deliver`,
    /// ``EventJournal/synchronize()``, and the worker that is told that its event was handled. Readers of the journal
    /// see an event once it is safe. If no caller waits, a group is synchronized within this time of its first event.
    case machine(within: Duration)
}

/// How much of the past a journal keeps; whole segments go, the oldest first, when a new one is made.
public struct JournalRetention: Sendable, Hashable {
    /// How many bytes the files take at most, the one made ahead included; nil for no limit.
    public var bytes: Int?

    /// How old events become at most, as far as whole segments are older; nil for no limit.
    public var age: Duration?

    /// Makes a limit; everything is kept if there is none.
    ///
    /// Less than three segments are never kept: the one that is written, the one before it, and the one made ahead.
    public init(bytes: Int? = nil, age: Duration? = nil) {
        self.bytes = bytes
        self.age = age
    }

    /// Nothing is removed.
    public static let everything = JournalRetention()
}

/// What a journal does if the file system has no room for another segment.
public enum JournalFullPolicy: Sendable, Hashable {
    /// Takes no more events until there is room: `deliver` throws, `publish` is announced as `HandlerFailed`.
    case refuse
    /// Removes its oldest segment for the new one, also when it is opened; a reader that had not come so far is told of
    /// the gap.
    case removeOldest
}
