/// An event for a pool of workers came without the key that chooses a member.
///
/// All events of this name without a key are for the same member, in order; like any event, they may be dropped or
/// refused. A misspelled key field leaves the other members without work. So the bridge publishes this report, once for
/// each event name of a pool.
public struct EventKeyMissing: DomainEvent, SelfReport {
    /// The name of the event.
    public let event: String

    /// The name of the pool.
    public let worker: String

    /// The member that the event is for.
    public let member: String

    /// Makes the event.
    public init(event: String, worker: String, member: String) {
        self.event = event
        self.worker = worker
        self.member = member
    }
}
