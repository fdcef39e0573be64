/// Events that one consumer of a sequence has missed, in the place where they would have been.
public struct EventGap: Hashable, Sendable, CustomStringConvertible {
    /// The name of the events.
    public let event: String

    /// How many were missed here.
    public let count: Int

    /// How many the consumer's buffer holds.
    public let limit: Int

    package init(event: String, count: Int, limit: Int) {
        self.event = event
        self.count = count
        self.limit = limit
    }

    /// The loss in words.
    public var description: String {
        "\(count) \(event) events were missed: the consumer's buffer holds \(limit)"
    }
}

/// Thrown by a sequence of events in the place of those that its consumer has missed; it may go on after that.
public struct EventsMissed: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was missed.
    public let gap: EventGap

    /// The loss in words.
    public var description: String { gap.description }
}

/// An event, or the place where some were missed.
public enum EventOrGap<E: DomainEvent>: Sendable {
    /// The next event.
    case event(E)
    /// Events were missed here.
    case gap(EventGap)
}

/// An event together with what is known about it, for loops, which have no handler's scope.
public struct Delivery<E: DomainEvent>: Sendable {
    /// The event.
    public let event: E

    /// Its identity, attempt and causes; pass it on with ``EventPublisher/publish(_:causedBy:)``.
    public let context: EventContext
}
