import BridgeProtocol
package import DomainEvents
import Locks

/// What has become of the events of one link, or of several links one after the other.
package struct LinkTally: Sendable, Hashable {
    /// Events that were taken for the peer.
    package var accepted: UInt64 = 0
    /// Events that were sent, and acknowledged as handled.
    package var handled: UInt64 = 0
    /// Events that were sent, and acknowledged though nothing at the peer wanted them.
    package var unwanted: UInt64 = 0
    /// Events that were sent to a peer that acknowledges nothing.
    package var unconfirmed: UInt64 = 0
    /// Events that were sent, and refused.
    package var refused: UInt64 = 0
    /// Events that a policy dropped before they were sent.
    package var dropped: UInt64 = 0
    /// Events that a later event replaced before they were sent.
    package var coalesced: UInt64 = 0
    /// How many bytes the frames of the sent events had.
    package var sentBytes: UInt64 = 0

    /// How long the peer took to settle a sample of what was sent.
    package var settling = DurationHistogram()

    /// Events that arrived, over the stream or out of the peer's memory.
    package var arrived: UInt64 = 0
    /// Events that arrived, and were handled.
    package var arrivedHandled: UInt64 = 0
    /// Events that arrived, though nothing here wanted them.
    package var arrivedUnwanted: UInt64 = 0
    /// Events that arrived, and were refused here or ended the link because they broke the protocol.
    package var arrivedRefused: UInt64 = 0
    /// Events that the peer had accepted, and that were not found in its memory.
    package var missing: UInt64 = 0
    /// How many bytes the frames of the events from the stream had.
    package var arrivedBytes: UInt64 = 0

    package init() {}

    package mutating func add(_ other: LinkTally) {
        accepted += other.accepted
        handled += other.handled
        unwanted += other.unwanted
        unconfirmed += other.unconfirmed
        refused += other.refused
        dropped += other.dropped
        coalesced += other.coalesced
        sentBytes += other.sentBytes
        settling.add(other.settling)
        arrived += other.arrived
        arrivedHandled += other.arrivedHandled
        arrivedUnwanted += other.arrivedUnwanted
        arrivedRefused += other.arrivedRefused
        missing += other.missing
        arrivedBytes += other.arrivedBytes
    }
}
