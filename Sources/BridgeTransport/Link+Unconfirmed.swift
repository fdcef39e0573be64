import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks

/// Events for a peer that acknowledges nothing: at most once.
extension Link {
    /// Settles all that was handed out for writing: what of it arrives, and what becomes of it, the peer does not say.
    ///
    /// With the lock held.
    func settleUnconfirmed() {
        outbox.forEachUnsettled(through: outbox.lastComposed) { record in
            let body = UnsafeRawBufferPointer(rebasing: record.frame[FrameDecoder.headBytes...])
            // Our own frame; it decodes.
            guard !record.isGap, let (head, _) = try? EventFrame.decode(body, limits: limits), head.wantsReceipt
            else { return }
            unconfirmedAwaited.append(EventID(source: record.source, number: record.number))
        }
        let all = outbox.creditAll()
        unconfirmedEvents += UInt64(outbox.settle(all))
        if trace != nil { trace?.acknowledged(all, at: MonotonicClock.now()) }
    }

    /// Tells of those that somebody waits to hear of; nil if there are none.
    ///
    /// With the lock held; what it returns is to be called without.
    func takeUnconfirmed() -> (() -> Void)? {
        if unconfirmedAwaited.isEmpty { return nil }
        let (events, delegate) = (unconfirmedAwaited, delegate)
        unconfirmedAwaited = []
        return { delegate?.link(self, leftUnconfirmed: events) }
    }
}
