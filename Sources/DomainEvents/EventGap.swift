/// Events that one consumer of a sequence has missed, at the place where they would have been.
public struct EventGap: Hashable, Sendable, CustomStringConvertible {
    /// The name of the events.
    public let event: String

    /// How many events were missed at this place.
    public let count: Int

    /// How many of the missed events never arrived: an outbox on the way had no room, and dropped them.
    public let droppedOnTheWay: Int

    /// How many events the consumer's buffer can hold.
    public let limit: Int

    package init(event: String, count: Int, droppedOnTheWay: Int = 0, limit: Int) {
        self.event = event
        self.count = count
        self.droppedOnTheWay = droppedOnTheWay
        self.limit = limit
    }

    /// The loss in words.
    public var description: String {
        var causes: [String] = []
        if droppedOnTheWay < count { causes.append("the consumer's buffer holds \(limit)") }
        if droppedOnTheWay > 0 { causes.append("an outbox on the way dropped \(droppedOnTheWay)") }
        return "\(count) \(event) events were missed: \(causes.joined(separator: ", "))"
    }
}

/// Thrown by a sequence at the place of events that its consumer has missed; after that, the consumer may go on.
public struct EventsMissed: Error, Hashable, Sendable, CustomStringConvertible {
    /// The missed events: their name and their number.
    public let gap: EventGap

    /// The loss in words.
    public var description: String { gap.description }
}

/// An event, or the place where events were missed.
public enum EventOrGap<E: DomainEvent>: Sendable {
    /// The next event.
    case event(E)
    /// Events were missed at this place.
    case gap(EventGap)
}

/// An event with its context, for loops: a loop is no handler, so ``EventContext/current`` does not know its event.
public struct Delivery<E: DomainEvent>: Sendable {
    /// The event.
    public let event: E

    /// The event's identity, attempt and causes; pass it on with ``EventPublisher/publish(_:causedBy:)-(E,_)``.
    public let context: EventContext

    @usableFromInline
    init(event: E, context: EventContext) {
        self.event = event
        self.context = context
    }
}
