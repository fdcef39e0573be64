/// Decides what a gateway makes of another gateway that answers at the node's subject: a value without a clock.
struct Encounter {
    /// How long a gateway of another owner may take to end, in nanoseconds.
    static let patience: UInt64 = 5_000_000_000

    /// When another gateway first answered, in nanoseconds.
    private var metAt: UInt64?
    /// Whether a gateway of the same owner has answered: this gateway is its replacement.
    ///
    /// Both gateways have the same host. Since this gateway's start the host may have got events from the other one, so
    /// the place that the host named to this gateway is out of date. A gateway of another owner has another host, which
    /// is most likely dead: what that host got says nothing of what this gateway's host has.
    private(set) var isReplacement = false

    /// Notes that another gateway has answered.
    ///
    /// - Parameters:
    ///   - isSameOwner: whether that gateway has this gateway's owner.
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
