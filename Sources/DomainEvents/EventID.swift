/// The origin of events that are numbered together: a process's name and one start of that process.
///
/// The identifiers that one publisher makes share this object, so passing an identifier on costs one reference.
@usableFromInline
package final class EventSource: Sendable {
    /// The worker's or client's name, or `host`.
    @usableFromInline package let origin: String
    /// 64 random bits for each start of that process.
    @usableFromInline package let incarnation: UInt64
    /// Whether the process runs on another machine; it is then named as `node/process`, and no process here can have
    /// such a name.
    package let isForeign: Bool
    /// Whether any event of the source may come again at any time: an importer or a journal brings its events, and
    /// their numbers need not ascend.
    package let mayComeAgain: Bool

    @usableFromInline
    package init(origin: String, incarnation: UInt64) {
        self.origin = origin
        self.incarnation = incarnation
        isForeign = Self.isForeign(origin)
        mayComeAgain = isForeign
    }

    /// The same source, for events that a journal brings again.
    package init(restored source: EventSource) {
        (origin, incarnation, isForeign) = (source.origin, source.incarnation, source.isForeign)
        mayComeAgain = true
    }

    /// Whether this is the name of a process of another machine.
    package static func isForeign(_ origin: String) -> Bool { origin.utf8.contains(UInt8(ascii: "/")) }
}

extension EventSource: Hashable {
    /// Whether both are the same start of the same process; origins are compared to the byte.
    @usableFromInline
    package static func == (left: EventSource, right: EventSource) -> Bool {
        left === right || (left.incarnation == right.incarnation && left.origin.hasBytes(of: right.origin))
    }

    @usableFromInline
    package func hash(into hasher: inout Hasher) { hasher.combine(incarnation) }
}

/// The identity of one offered event: it never changes on the way, and a redelivery keeps it.
///
/// `origin` names the process that offered the event, `incarnation` one start of that process, and `number` counts the
/// events of that start. An identifier is unique as long as 64 random bits are. An attached client itself knows
/// its events by another origin and incarnation, those of its publisher.
public struct EventID: Hashable, Sendable, CustomStringConvertible {
    @usableFromInline package let source: EventSource

    /// Counts the events that the origin has offered, from 1.
    public let number: UInt64

    @usableFromInline
    package init(source: EventSource, number: UInt64) {
        self.source = source
        self.number = number
    }

    /// Makes an identifier from its three parts, for stores that keep identifiers of handled events.
    public init(origin: String, incarnation: UInt64, number: UInt64) {
        self.init(source: EventSource(origin: origin, incarnation: incarnation), number: number)
    }

    /// The name of the worker or client that offered the event, or `host`; for an event of another machine the names
    /// of its node and of its process there, such as `berlin/host`.
    public var origin: String { source.origin }

    /// Whether another machine's process offered the event, and a gateway has imported it.
    ///
    /// The origin then has a slash, which no name of a worker or client has.
    public var isForeign: Bool { source.isForeign }

    /// 64 random bits, chosen anew for each publisher each time the origin's process starts.
    public var incarnation: UInt64 { source.incarnation }

    /// `origin-incarnation-number`, the incarnation in hexadecimal.
    public var description: String { "\(origin)-\(String(incarnation, radix: 16))-\(number)" }

    /// Identifiers are equal when their incarnations, their numbers and the bytes of their origins are equal.
    public static func == (left: EventID, right: EventID) -> Bool {
        left.number == right.number && left.source == right.source
    }

    /// Hashes incarnation and number.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(incarnation)
        hasher.combine(number)
    }
}
