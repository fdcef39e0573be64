import BridgeTransport

/// The counts of a peer that its present link does not have.
struct PeerCounts {
    /// What became of the events of links that have ended.
    var ended = LinkTally()
    /// Events that were not taken.
    var rejected: UInt64 = 0
    /// Events taken out of the outbox because the peer crashed over them, or was removed.
    var deadLettered: UInt64 = 0
    /// How often one of the peer's incarnations has broken the protocol.
    var violations: UInt64 = 0
}
