import BridgeProtocol
import Locks

/// Links of peers that run only while there is something for them: who learns of it, and how such a peer is let go without a loss.
extension Link {
    /// Calls `body` once when something lies here that may leave, or the link has ended; at once if it is so already.
    ///
    /// For a link without a stream: its peer is down. In the place of what waited before.
    package func whenDemanded(_ body: @escaping @Sendable () -> Void) {
        let isDemanded = lock.withLock {
            if ending.hasEnded || isDemandedNow { return true }
            waiters.waitForDemand(body)
            return false
        }
        if isDemanded { body() }
    }

    /// With the lock held.
    private var isDemandedNow: Bool { !isEmpty && !gate.isPaused }

    /// Tells whoever waits for it that something lies here.
    func demandArose() {
        let waiter = lock.withLock { isDemandedNow ? waiters.takeDemand() : nil }
        waiter?()
    }

    /// Lets no event leave any more, if nothing has gone either way since ``activity`` was read and nothing is on its way.
    ///
    /// What is taken from now on waits for the next incarnation: it has not left, so it comes there for the first time.
    ///
    /// - Returns: Whether it is so.
    package func keepEventsIfIdle(since activity: UInt64) -> Bool {
        lock.withLock {
            guard ending.isWritable, isEmpty, isQuietNow, activityNow == activity else { return false }
            gate.keep()
            return true
        }
    }

    /// Lets no event leave any more: the peer is to finish what it has, and another process takes its place.
    ///
    /// What has left it may still acknowledge, and what it publishes is still acknowledged.
    package func keepEvents() {
        lock.withLock {
            gate.keep()
            // One that stands only behind what does not leave any more would never stand.
            receiving.lastAcknowledgementMayNeverStand()
        }
        pump()
    }
}
