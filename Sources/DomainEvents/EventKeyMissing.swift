/// An event for a pool of workers came without the key by which its member is chosen.
///
/// The event was delivered: all events of its name without a key go to the same member, in order. The bridge publishes
/// this once for each event name of a pool, because a misspelled key field leaves the other members without work.
public struct EventKeyMissing: DomainEvent, SelfReport {
    /// The name of the event.
    public let event: String

    /// The name of the pool.
    public let worker: String

    /// The member that gets the event.
    public let member: String

    /// Makes the event.
    public init(event: String, worker: String, member: String) {
        self.event = event
        self.worker = worker
        self.member = member
    }
}
