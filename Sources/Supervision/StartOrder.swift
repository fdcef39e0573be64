/// Says whether children wait for each other when a supervisor starts them.
///
/// The choice holds for restarts of a group as well. In either case the supervisor stops children one after the other,
/// the last one first, unless the stop is escalated.
public enum StartOrder: String, Hashable, Sendable, CaseIterable {
    /// All start at once: for children that can start without each other. The default, as it is the quickest.
    case together

    /// Each child starts when all before it are ready, dormant or at rest: for children that need earlier ones.
    case inSequence = "in-sequence"
}
