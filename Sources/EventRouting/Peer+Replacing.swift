import BridgePlatform
package import BridgeTransport
import DomainEvents
import Locks

/// How a peer changes from its present process to a successor that was started beside it.
///
/// The successor has its own link from the beginning, but no event leaves over that link yet. When the present process
/// has ended, the peer moves the events in its outbox to the successor's link, in the same way as from one incarnation
/// to the next.
extension Peer {
    /// Makes the link of a successor.
    package func makeSuccessor() -> Link {
        lock.withLock {
            let made = makeLink()
            successor = made
            return made
        }
    }

    /// Forgets the link of a successor that has ended before it took the present process's place; ignores other links.
    package func forgetSuccessor(_ link: Link) {
        lock.withLock {
            guard successor === link else { return }
            successor = nil
            counts.ended.add(link.tally.tally)
        }
    }

    /// Whether this is the link of the successor.
    func isSuccessor(_ link: Link) -> Bool { lock.withLock { successor === link } }

    /// Puts the link of a successor that is ready in the place of the present link, and moves the events there.
    ///
    /// The former process has ended, so the present link was made for its next start. If the successor has just ended,
    /// too, nothing is moved: no process is left, and the next start gets all events.
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

    /// The link of the process that offered an event, which is the present process or its successor; nil if that
    /// process does not run.
    func link(toPeerOf id: EventID) -> Link? {
        let (current, successor) = lock.withLock { (self.current, self.successor) }
        if current.isPeer(id.source) { return current }
        return successor.flatMap { $0.isPeer(id.source) ? $0 : nil }
    }
}
