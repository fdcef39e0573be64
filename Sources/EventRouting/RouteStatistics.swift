package import BridgeTransport

/// What has become of the events to and from one peer, over all its incarnations.
package struct RouteStatistics: Sendable, Hashable {
    package let offered: UInt64
    package let rejected: UInt64
    package let deadLettered: UInt64
    package let violations: UInt64
    package let tally: LinkTally
    /// In the outbox, and not settled.
    package let waiting: UInt64
    package let waitingBytes: Int
}
