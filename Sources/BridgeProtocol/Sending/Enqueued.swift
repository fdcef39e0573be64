/// What became of an event that was offered for a peer.
package enum Enqueued: Sendable, Hashable {
    /// The event lies in the outbox under this sequence, or waits before the outbox under this ticket; `isCrowded` says
    /// that the peer should get no more for now.
    case accepted(sequence: UInt64, isCrowded: Bool)
    /// The link has ended; the next incarnation's link takes the event.
    case ended
    /// This side has said goodbye, and the peer does not see what comes after the goodbye.
    case finished
    /// A policy has dropped the event.
    case dropped
    /// Events of this name no longer go to the peer.
    case left
    /// The outbox is at this limit, in bytes.
    case full(limit: Int)
    /// The event would have to wait for room, and the caller wants no wait.
    case crowded
    /// The frame would be larger than the peer takes.
    case tooLarge(size: Int, limit: Int)
}
