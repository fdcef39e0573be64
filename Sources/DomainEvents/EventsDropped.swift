/// Events that an outbox could not take, or that its overflow policy dropped, are gone: the bridge counts and announces
/// them.
///
/// One announcement tells all losses of one event name on one link within a tenth of a second.
public struct EventsDropped: DomainEvent, SelfReport {
    /// The name of the events.
    public let event: String

    /// The worker that did not get them.
    public let link: String

    /// How many events were dropped.
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
