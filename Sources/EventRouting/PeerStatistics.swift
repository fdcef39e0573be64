package import BridgeTransport

/// The counts of events to and from one peer, over all its incarnations.
package struct PeerStatistics: Sendable, Hashable {
    package let offered: UInt64
    package let rejected: UInt64
    package let deadLettered: UInt64
    package let violations: UInt64
    package let tally: LinkTally
    /// Events in the outbox that are not settled.
    package let waiting: UInt64
    package let waitingBytes: Int
}
