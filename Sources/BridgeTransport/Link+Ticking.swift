import BridgePlatform
import BridgeProtocol
import Locks

/// Looking after a link that has received something: a moment later, from the poller's thread.
///
/// One timer for everything that may have to be done by then: acknowledging what found no frame to ride on, and relieving the reading
/// thread if it is still in the same handlers. It is set by the first event and runs on only while handlers do, so an idle link has none.
extension Link {
    /// How long an acknowledgement may wait for a frame that it can ride on, and handlers may keep a link from being read.
    private static let tickDelay: UInt64 = 2_000_000

    /// With the lock held.
    ///
    /// - Parameter sequence: the event whose handlers may be slow; 0 for none.
    /// - Returns: Whether ``startTick()`` is to be called, without the lock.
    func setTick(watching sequence: UInt64) -> Bool {
        if isTickSet { return false }
        isTickSet = true
        watched = sequence
        return true
    }

    func startTick() {
        // Strong, for a moment: weak references to an object make every counted one of it dearer.
        poller.schedule(after: Self.tickDelay) { self.tick() }
    }

    private func tick() {
        let now = inlineLane.blockingNow
        let (isSlow, starts) = lock.withLock {
            isTickSet = false
            receiving.acknowledgementIsDue()
            let isSlow = now != 0 && now == watched
            return (isSlow, now != 0 && setTick(watching: now))
        }
        pump()
        if isSlow { relieveReading(of: now) }
        if starts { startTick() }
    }

    private func relieveReading(of sequence: UInt64) {
        guard case .needsThread = inlineLane.relieve(sequence) else { return }
        let (stream, reader) = lock.withLock { (self.stream, self.reader) }
        do {
            guard let stream, let reader else { return inlineLane.threadIsMissing() }
            try PlatformThread.start(name: "link \(peerName)") { self.relieve(stream, with: reader) }
        } catch {
            // Everything waits for the handlers, and the next look tries again.
            inlineLane.threadIsMissing()
        }
    }
}
