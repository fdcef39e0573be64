/// Says whether children wait for each other when a supervisor starts them.
///
/// The order holds for restarts of a group as well. In either order, children are stopped one after the other, in
/// reverse order.
public enum StartOrder: String, Hashable, Sendable, CaseIterable {
    /// All start at once: for children that do not need each other to come up. The default, as it is the quickest.
    case together

    /// Each child starts when those before it are ready, or have come to rest: for children that need earlier ones.
    case inSequence = "in-sequence"
}
