import BridgePlatform
package import BridgeTransport
import DomainEvents
import Locks

/// How a peer changes from one process to another that has come up beside it.
///
/// The other process has its own link from the beginning, over which no event leaves yet. When the present process has
/// ended, the peer moves the events in its outbox to that link, in the same way as from one incarnation to the next.
extension Peer {
    /// Makes the link of a process that will take the place of the present one.
    package func makeSuccessor() -> Link {
        lock.withLock {
            let made = makeLink()
            successor = made
            return made
        }
    }

    /// Forgets this link if it is the successor's: its process has ended before it took the present one's place.
    package func forgetSuccessor(_ link: Link) {
        lock.withLock {
            guard successor === link else { return }
            successor = nil
            counts.ended.add(link.tally.tally)
        }
    }

    /// Whether this link's process will take the place of the present one.
    func isSuccessor(_ link: Link) -> Bool { lock.withLock { successor === link } }

    /// Puts the link of a process that is ready in the place of the present link, whose process has ended, and moves
    /// the events to it.
    ///
    /// If the new link has just ended too, nothing is moved: no process is left, and the next start gets all events.
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

    /// The link of the process that offered an event, which is the present process or the one beside it; nil if that
    /// process does not run.
    func link(toPeerOf id: EventID) -> Link? {
        let (current, successor) = lock.withLock { (self.current, self.successor) }
        if current.isPeer(id.source) { return current }
        return successor.flatMap { $0.isPeer(id.source) ? $0 : nil }
    }
}
