/// What a host makes of an event that it is given.
public enum Custody: Sendable, Equatable {
    /// The host answers for the event from now on.
    case taken
    /// The host will never take it, and why.
    case refused(String)
    /// The host takes no more events; the next gateway gets this one again.
    case ended
}
