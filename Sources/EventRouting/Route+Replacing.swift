import BridgePlatform
package import BridgeTransport
import DomainEvents
import Locks

/// How a route goes over from one process of its peer to another, which has come up beside it.
///
/// The other process has a link of its own from the beginning, over which no event leaves. When the present one has
/// ended, what lies in the route's outbox, which has no stream then, is moved there: that is the same way that
/// everything goes from one incarnation to the next.
extension Route {
    /// The link of a process that is to take the place of the present one.
    package func makeSuccessor() -> Link {
        lock.withLock {
            let made = makeLink()
            successor = made
            return made
        }
    }

    /// The process of this link has ended before it took the present one's place, if it is such a one.
    package func forgetSuccessor(_ link: Link) {
        lock.withLock {
            guard successor === link else { return }
            successor = nil
            counts.ended.add(link.tally.tally)
        }
    }

    /// Whether this link's process is to take the place of the present one.
    func isSuccessor(_ link: Link) -> Bool { lock.withLock { successor === link } }

    /// Puts the link of a process that is ready in the place of the present one, whose own process has ended, with all
    /// that lies there.
    ///
    /// If the link has ended in this moment nothing is moved: its process was the last one, and the next start gets it
    /// all.
    package func succeed(by next: Link) {
        let retired: Link? = lock.withLock {
            guard successor === next, !next.hasEnded else { return nil }
            successor = nil
            let retired = current
            _ = retired.retire(movingTo: next)
            next.setPaused(isPaused)
            putInPlace(next)
            return retired
        }
        guard let retired else { return }
        retired.wakeWaiters()
        releaseEvents(over: next)
    }

    /// The link of the process that has offered an event, the present one or the one beside it; nil if it does not run.
    func link(toPeerOf id: EventID) -> Link? {
        let (current, successor) = lock.withLock { (self.current, self.successor) }
        if current.isPeer(id.source) { return current }
        return successor.flatMap { $0.isPeer(id.source) ? $0 : nil }
    }
}
