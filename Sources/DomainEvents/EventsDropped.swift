/// Events are gone, mostly because an outbox could not take them or its overflow policy dropped them: the bridge counts
/// and announces them.
///
/// A report of the bridge is dropped and announced, too, if a worker has crashed over it as often as the limit allows.
///
/// One announcement covers the losses of one event name on one link, gathered for about a tenth of a second.
public struct EventsDropped: DomainEvent, SelfReport {
    /// The name of the events.
    public let event: String

    /// The peer that missed the events; `every link` if all peers did; this process's name if its own handlers did.
    public let link: String

    /// How many events were dropped.
    public let count: Int

    /// The identity of the event that was dropped first.
    public let first: String

    /// The identity of the event that was dropped last.
    public let last: String

    /// Why the first event was dropped, in words.
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
