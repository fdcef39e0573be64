package import EventRouting

/// How many dead letters a bridge keeps, and what happens when it can keep no more.
public struct DeadLetterLimits: Sendable, Hashable {
    /// What happens when no more letters can be kept.
    public enum Overflow: Sendable, Hashable {
        /// A worker that could not handle an event gets no more events until there is room; `DeadLettersFull` says so.
        case stop
        /// The oldest letters are thrown away, and their events are gone; `DeadLetterEvicted` says so.
        case evictOldest
    }

    /// How many letters are kept; 1,000 by default.
    public var letters: Int

    /// How many bytes all letters together may have, each counted as at least 256; 16 MiB by default.
    public var bytes: Int

    /// What happens when no more letters can be kept; by default none is thrown away.
    public var whenFull: Overflow

    /// Makes limits.
    public init(letters: Int = 1_000, bytes: Int = 16 << 20, whenFull: Overflow = .stop) {
        self.letters = letters
        self.bytes = bytes
        self.whenFull = whenFull
    }

    func validate() -> [String] {
        var mistakes: [String] = []
        if letters < 1 { mistakes.append("\(letters) dead letters are kept; 1 is the least") }
        if bytes < 1 { mistakes.append("the dead letters have \(bytes) bytes; 1 is the least") }
        return mistakes
    }

    package var bounds: DeadLetterBounds {
        DeadLetterBounds(letters: letters, bytes: bytes, evictsOldest: whenFull == .evictOldest)
    }
}
