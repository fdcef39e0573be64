import BridgeProtocol
import Locks

/// What a peer that lives is at, as far as the memory tells that it shares.
extension Link {
    /// The events that the peer has in its handlers, by their sequences.
    package struct PeerWork: Sendable, Hashable {
        /// The one whose inline handlers run; nil if none do.
        package let inline: UInt64?
        /// The oldest that was begun and not finished, wherever its handlers run; nil if there is none.
        package let oldest: UInt64?
    }

    /// Nil if the peer shares no memory, or has not begun to use it.
    ///
    /// The page is the peer's word, and may change while it is copied: only what several looks agree on means anything.
    package var peerWork: PeerWork? {
        guard let memory = lock.withLock({ stream })?.memory, let state = OutboxState(memory) else { return nil }
        let (sent, last) = lock.withLock { (outbox.sentSequences, outbox.lastComposed) }
        return PeerWork(
            inline: state.handledNow?.within(0...last),
            oldest: sent.flatMap { state.oldestOpen(in: $0) }
        )
    }

    /// An event that was sent and that the peer has not settled; nil for every other one.
    package func unsettledEvent(_ sequence: UInt64) -> Suspect? {
        lock.withLock {
            guard sequence <= outbox.lastComposed else { return nil }
            var found: Suspect?
            outbox.forEachUnsettled { record in
                if record.sequence == sequence { found = suspect(record, isInline: false) }
            }
            return found
        }
    }
}

extension Outbox {
    /// What was handed out for writing and is still kept, by its sequences; nil if there is nothing.
    fileprivate var sentSequences: ClosedRange<UInt64>? {
        let first = lastSequence &+ 1 &- UInt64(count)
        return first <= lastComposed ? first...lastComposed : nil
    }
}
