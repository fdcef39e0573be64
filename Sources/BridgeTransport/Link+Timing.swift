import BridgePlatform
import BridgeProtocol

/// What is measured of events that leave.
extension Link {
    /// Takes note of events that have just been handed out for writing.
    ///
    /// With the lock held.
    ///
    /// - Parameter last: the one before them.
    func eventsLeave(after last: UInt64) {
        if trace != nil { trace?.left(through: outbox.lastComposed, at: MonotonicClock.now()) }
        guard settling.isIdle, role == .host, !acknowledgesNothing, !outbox.isGap(last &+ 1) else { return }
        settling.began(last &+ 1, at: MonotonicClock.now())
    }
}
