/// Events were published that an outbox could not take, or that its overflow policy dropped: counted, announced, and
/// gone.
///
/// Losses of one event on one link within a tenth of a second are announced together.
public struct EventsDropped: DomainEvent, SelfReport {
    /// The name of the events.
    public let event: String

    /// The worker that did not get them.
    public let link: String

    /// How many.
    public let count: Int

    /// The identity of the first of them.
    public let first: String

    /// The identity of the last of them, by when they were dropped.
    public let last: String

    /// Why the first of them was dropped, in words.
    public let reason: String

    /// Makes the event.
    public init(event: String, link: String, count: Int, first: String, last: String, reason: String) {
        self.event = event
        self.link = link
        self.count = count
        self.first = first
        self.last = last
        self.reason = reason
    }
}
