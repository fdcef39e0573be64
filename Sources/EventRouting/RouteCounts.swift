import BridgeTransport

/// What is counted of a peer beside what its present link counts.
struct RouteCounts {
    /// What became of the events of links that have ended.
    var ended = LinkTally()
    /// Events that were not taken.
    var rejected: UInt64 = 0
    /// Taken out of the outbox, as the peer crashed over them, or was removed.
    var deadLettered: UInt64 = 0
    /// How often one of the peer's incarnations has broken the protocol.
    var violations: UInt64 = 0
}
