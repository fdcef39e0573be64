/// What a host does with an event that it is given.
public enum Custody: Sendable, Equatable {
    /// The host answers for the event from now on.
    case taken
    /// The host will never take the event; the text says why.
    case refused(String)
    /// The host has no room for the event now, as the text says; the gateway gives the event again.
    case notNow(String)
    /// The host takes no more events, because the host or this process ends; the next gateway gets the event again.
    case ended
    /// The host takes no events although it does not end; the gateway makes this report, and ends.
    case failed(GatewayReport)
}
