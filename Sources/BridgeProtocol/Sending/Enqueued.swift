/// What became of an event that was offered for a peer.
package enum Enqueued: Sendable, Hashable {
    /// It lies in the outbox under this sequence; `isCrowded` says that the peer should get no more for now.
    case accepted(sequence: UInt64, isCrowded: Bool)
    /// The link has ended; the next incarnation's link takes the event.
    case ended
    /// This side has said goodbye, and the peer does not see what comes after that.
    case finished
    /// A policy has dropped it.
    case dropped
    /// Events of this name no longer go to the peer.
    case left
    /// The outbox is at this limit, in bytes.
    case full(limit: Int)
    /// The event would have to wait for room, and was to be taken only without that.
    case crowded
    /// The frame would be larger than the peer takes.
    case tooLarge(size: Int, limit: Int)
}
