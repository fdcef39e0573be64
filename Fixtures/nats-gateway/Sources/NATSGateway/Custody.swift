/// What a host makes of an event that it is given.
public enum Custody: Sendable, Equatable {
    /// The host answers for the event from now on.
    case taken
    /// The host will never take it, and why.
    case refused(String)
    /// The host has no room for it at the moment, and says so: it is given the event again.
    case notNow(String)
    /// The host takes no more events, because it ends or this process does; the next gateway gets this one again.
    case ended
    /// The host takes no events, though it goes on: what the gateway says of that before it ends.
    case failed(GatewayReport)
}
