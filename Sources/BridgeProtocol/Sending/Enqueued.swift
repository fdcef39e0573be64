/// What became of an event that was offered for a peer.
package enum Enqueued: Sendable, Hashable {
    /// It lies in the outbox under this sequence; `isCrowded` says that the peer is to be given no more for now.
    case accepted(sequence: UInt64, isCrowded: Bool)
    /// The link has ended; the next incarnation's link takes the event.
    case ended
    /// This side has said goodbye, and the peer does not see what comes after that.
    case finished
    /// A policy has dropped it.
    case dropped
    /// Events of this name do not go to the peer any more, however lately they did.
    case left
    /// The outbox is at this limit, in bytes.
    case full(limit: Int)
    /// It was to be taken only if there was room below the limit where waiting begins, or nothing waited.
    case crowded
    /// The frame would be larger than the peer takes.
    case tooLarge(size: Int, limit: Int)
}
