/// Decides when a side acknowledges, and which of its own events the peer must have first.
///
/// The peer frees an acknowledged event only when it has what the event's handlers published. So for each batch
/// of frames that leaves, the plan says whether the batch carries an acknowledgement, and which event of this side must
/// arrive before that acknowledgement counts.
package struct AcknowledgementPlan: Sendable, Hashable {
    /// Whether the next batch carries an acknowledgement, even if it carries nothing else.
    private var isDue = false
    /// Whether the last acknowledgement counts only after events that a policy may still drop; it is then repeated when
    /// nothing waits before the outbox any more.
    private var isOpen = false
    /// Whether the next batch repeats the last acknowledgement.
    private var isRepeated = false

    package init() {}

    /// What a batch carries so far, and which events of this side stay behind it.
    package struct Batch: Sendable, Hashable {
        package let carriesFrames: Bool
        /// Whether the goodbye ends the batch, so that no batch follows.
        package let isLast: Bool
        /// The newest event that has left, with this batch or before it.
        package let lastComposed: UInt64
        /// The newest event in the outbox.
        package let lastSequence: UInt64
        /// How many events and gaps wait before the outbox.
        package let queued: Int
        /// Whether what stays behind may stay for any length of time: the link is paused, the peer gets no more events,
        /// or the worker is not ready yet.
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

        /// The event that must arrive before an acknowledgement in this batch counts; 0 for none.
        ///
        /// In a batch, the acknowledgement follows the events, so it need not name events that have left. The peer does
        /// not wait for events that are held back: the host keeps them, whatever becomes of the peer.
        fileprivate var behind: UInt64 {
            if isHeldBack { return 0 }
            // Each entry that waits before the outbox takes at most one sequence; it may be dropped.
            if queued > 0 { return lastSequence &+ UInt64(queued) }
            return lastComposed < lastSequence ? lastSequence : 0
        }
    }

    /// An acknowledgement that a batch carries.
    package struct Ride: Sendable, Hashable {
        /// The event that must arrive before the acknowledgement counts; 0 for none.
        package let after: UInt64
        /// Whether the acknowledgement is written even if the peer knows all that it says.
        package let isRepeated: Bool

        package init(after: UInt64, isRepeated: Bool) {
            self.after = after
            self.isRepeated = isRepeated
        }
    }

    /// Whether an acknowledgement may leave even if the peer already knows all that is handled.
    var isPending: Bool { isDue || isOpen || isRepeated }

    /// The next batch acknowledges, even if it carries nothing else: enough is handled, or a caller or timer asks.
    package mutating func acknowledgementIsDue() { isDue = true }

    /// The next batch repeats the last acknowledgement, because that may name an event held back for ever.
    package mutating func lastMayNeverStand() { isRepeated = true }

    /// A batch leaves.
    ///
    /// - Parameters:
    ///   - hasUnannounced: whether events are handled that are not acknowledged to the peer yet.
    ///   - mayRide: whether any batch may carry the acknowledgement of those events.
    /// - Returns: The acknowledgement that the batch carries; nil for none.
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
