/// When a side says what it has handled, and which of its own events the peer must have first.
///
/// An acknowledgement stands behind the consequences of what it names: the events that handlers published arrive before
/// the event that they handled is let go. So for each batch of frames that leaves, the plan says whether an
/// acknowledgement rides on it, and behind which event the acknowledgement stands.
package struct AcknowledgementPlan: Sendable, Hashable {
    /// Whether an acknowledgement leaves with the next batch, even alone.
    private var isDue = false
    /// Whether the last acknowledgement stands only behind events that may never come, as policies act on them: it is
    /// said again when nothing waits any more.
    private var isOpen = false
    /// Whether the last acknowledgement is said again with the next batch.
    private var isRepeated = false

    package init() {}

    /// What a batch carries so far, and what of this side's events stays behind it.
    package struct Batch: Sendable, Hashable {
        /// Whether it carries anything.
        package let carriesFrames: Bool
        /// Whether the goodbye ends it, so that no batch follows.
        package let isLast: Bool
        /// The newest event that has left, with this batch or before it.
        package let lastComposed: UInt64
        /// The newest event in the outbox.
        package let lastSequence: UInt64
        /// How many events and gaps wait before the outbox.
        package let queued: Int
        /// Whether what stays behind may stay for as long as it likes: the link is paused, or its peer is let go.
        package let isHeldBack: Bool

        package init(
            carriesFrames: Bool,
            isLast: Bool,
            lastComposed: UInt64,
            lastSequence: UInt64,
            queued: Int,
            isHeldBack: Bool
        ) {
            self.carriesFrames = carriesFrames
            self.isLast = isLast
            self.lastComposed = lastComposed
            self.lastSequence = lastSequence
            self.queued = queued
            self.isHeldBack = isHeldBack
        }

        /// The event behind which an acknowledgement in this batch stands; 0 if behind none.
        ///
        /// Acknowledgements lie behind the events of their batch, so events that have left need no name. The peer does
        /// not wait for events that are held back: the host keeps what lies there, whatever becomes of the peer.
        fileprivate var behind: UInt64 {
            if isHeldBack { return 0 }
            // Each entry that waits before the outbox takes one number at the most, and may be dropped.
            if queued > 0 { return lastSequence &+ UInt64(queued) }
            return lastComposed < lastSequence ? lastSequence : 0
        }
    }

    /// An acknowledgement that rides on a batch.
    package struct Ride: Sendable, Hashable {
        /// The event behind which it stands; 0 if behind none.
        package let after: UInt64
        /// Whether it is said even if the peer knows it all.
        package let isRepeated: Bool

        package init(after: UInt64, isRepeated: Bool) {
            self.after = after
            self.isRepeated = isRepeated
        }
    }

    /// Whether an acknowledgement may leave though nothing is handled that the peer has not been told of.
    var isPending: Bool { isDue || isOpen || isRepeated }

    /// The next batch says what is handled, even alone: so much is handled, or something waits to hear of it.
    package mutating func acknowledgementIsDue() { isDue = true }

    /// The last acknowledgement may stand behind what does not leave any more: the next batch says it again.
    package mutating func lastMayNeverStand() { isRepeated = true }

    /// A batch leaves.
    ///
    /// - Parameters:
    ///   - hasUnannounced: whether something is handled that the peer has not been told of.
    ///   - mayRide: whether that is said along with whatever leaves.
    /// - Returns: The acknowledgement that it carries, if there is something to say; nil for none.
    package mutating func batchLeaves(_ batch: Batch, hasUnannounced: Bool, mayRide: Bool) -> Ride? {
        let isSaidAgain = isRepeated || isOpen && batch.queued == 0
        let isRiding = mayRide && (batch.carriesFrames || batch.isLast)
        guard isDue || isSaidAgain || isRiding || batch.isLast && hasUnannounced else { return nil }
        isOpen = batch.queued > 0 && (isOpen || hasUnannounced)
        isDue = false
        isRepeated = false
        return Ride(after: batch.behind, isRepeated: isSaidAgain)
    }
}
