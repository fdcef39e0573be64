/// What became of an event that was offered for a peer.
package enum Enqueued: Sendable, Hashable {
    /// The event lies in the outbox under `sequence`, or waits before the outbox with that number as its ticket;
    /// `isCrowded` says that the peer should get no more for now.
    case accepted(sequence: UInt64, isCrowded: Bool)
    /// The link has ended; in a host, the next link to the peer takes the event, if there is one.
    case ended
    /// This side has said goodbye: the peer does not see the event, or sends no receipt for it.
    case finished
    /// A policy has dropped the event.
    case dropped
    /// Events of this name no longer go to the peer.
    case left
    /// There is no room for the event: the outbox takes at most `limit` bytes, or its shared memory is full.
    case full(limit: Int)
    /// The event would have to wait for room, and the caller does not wait.
    case crowded
    /// The frame might be larger than the peer takes.
    case tooLarge(size: Int, limit: Int)
}
