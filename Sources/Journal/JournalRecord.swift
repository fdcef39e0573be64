public import DomainEvents
import JournalFormat

/// An event of a journal as it was recorded, for a reader that does not know the event's type.
public struct JournalRecord: Sendable {
    /// The event's place among all events of the journal, from 1; to read on, pass this position as `after`.
    public let position: UInt64

    /// The event's name.
    public let name: String

    /// The event's identity, time and causes, as they were when the event was recorded.
    public let context: EventContext

    /// The event in CBOR.
    public let payload: [UInt8]

    /// The bookmark that the event's worker had put on it; nil if it had none.
    public var bookmark: EventBookmark? { context.bookmark?.bookmark }

    package init(position: UInt64, name: String, context: EventContext, payload: [UInt8]) {
        self.position = position
        self.name = name
        self.context = context
        self.payload = payload
    }
}

/// An event of a journal, decoded as its type.
public struct JournalEntry<E: DomainEvent>: Sendable {
    /// The event's place among all events of the journal, from 1; to read on, pass this position as `after`.
    public let position: UInt64

    /// The event.
    public let event: E

    /// The event's identity, time and causes, as they were when the event was recorded.
    public let context: EventContext

    @inlinable
    init(position: UInt64, event: E, context: EventContext) {
        self.position = position
        self.event = event
        self.context = context
    }
}

/// What a reader of a journal gets next.
public enum JournalStep<Entry: Sendable>: Sendable {
    /// The next event.
    case event(Entry)
    /// Events are missing here, or may be missing; the next step comes after them.
    case gap(JournalGap)
}

/// A place in a journal where events are missing, or may be missing.
public struct JournalGap: Sendable, Hashable, CustomStringConvertible {
    /// Why events are missing.
    public enum Reason: Sendable, Hashable {
        /// The oldest segments were removed, and these events with them.
        case removed
        /// A part of a file cannot be read, or lacks events.
        case damaged(file: String, offset: Int, byteCount: Int)
        /// A file is missing, too short or cannot be opened, or its head cannot be read; its events may still be found.
        case unreadable(file: String, why: String)
        /// The event is there, but does not decode as the type that the reader asked for, or cannot be salvaged.
        case undecodable(why: String)
    }

    /// The positions of the missing events; nil if none is known to be missing, or their number is unknown.
    public let positions: Range<UInt64>?

    /// Why the events are missing.
    public let reason: Reason

    package init(positions: Range<UInt64>?, reason: Reason) {
        self.positions = positions
        self.reason = reason
    }

    /// A gap of one event.
    init(at position: UInt64, _ reason: Reason) {
        // The position comes from a file. The greatest position makes an empty gap.
        self.init(positions: position..<position.saturatingSum(1), reason: reason)
    }

    /// How many events are known to be missing.
    public var count: UInt64 { positions.map { $0.upperBound - $0.lowerBound } ?? 0 }

    /// The gap in words.
    public var description: String {
        let what =
            switch positions {
            case nil: "events may be missing"
            case let positions? where count == 1: "the event at position \(positions.lowerBound) is missing"
            case let positions?:
                "\(count) events are missing, positions \(positions.lowerBound) to \(positions.upperBound - 1)"
            }
        switch reason {
        case .removed: return "\(what): the journal no longer keeps them"
        case .damaged(let file, let offset, let byteCount):
            return "\(what): \(byteCount) bytes of \(file) cannot be read, from \(offset) on"
        case .unreadable(let file, let why): return "\(what): \(file): \(why)"
        case .undecodable(let why): return "\(what): \(why)"
        }
    }
}

/// Which events of a journal a reader wants; by default all.
public struct JournalQuery: Sendable, Hashable {
    /// The names of the events; empty for all.
    ///
    /// A name is its bytes: é in one scalar and é in two are two names. A `Set<String>` would take them for one.
    public var names: [String] = []

    /// The origin of the events, such as a worker's name or `host`, compared byte by byte; nil for all origins.
    public var origin: String?

    /// The earliest time of an event by its publisher's clock, in nanoseconds since 1970-01-01 00:00 UTC; nil for any
    /// time.
    public var since: UInt64?

    /// The time before which the events were published, in the same form as ``since``; nil for any time.
    public var until: UInt64?

    /// Makes a query for all events.
    public init() {}
}
