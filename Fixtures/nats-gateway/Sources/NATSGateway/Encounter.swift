/// Decides what a gateway makes of another one that answers at its node's subject: a value without a clock.
struct Encounter {
    /// How long a gateway of another owner may take to end, in nanoseconds.
    static let patience: UInt64 = 5_000_000_000

    /// When another gateway first answered, in nanoseconds.
    private var metAt: UInt64?
    /// Whether a gateway of the same owner has answered: this one is its replacement.
    ///
    /// The two have one host. What it has of the other's events, it has from a time after this gateway's start, so it
    /// could name no later place to this gateway. The host of another owner's gateway is another one, and most likely
    /// dead: it says nothing of what this gateway's host has.
    private(set) var isReplacement = false

    /// Another gateway has answered.
    ///
    /// - Parameters:
    ///   - isSameOwner: whether it has this gateway's owner.
    ///   - time: the present, in nanoseconds.
    mutating func meet(at node: Node, isSameOwner: Bool, _ time: UInt64) -> Presence.Finding {
        let isFirst = metAt == nil
        let since = metAt ?? time
        metAt = since
        if isSameOwner {
            isReplacement = true
            return .waits(isFirst ? "waits for the end of the gateway before this one" : nil)
        }
        guard time - min(since, time) < Self.patience else {
            return .fenced("another gateway serves the node \(node)")
        }
        return .waits(isFirst ? "another gateway serves the node \(node): waits for its end for 5 s" : nil)
    }
}
