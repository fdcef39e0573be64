import BridgePlatform
package import BridgeTransport
import DomainEvents
import Locks

/// How a route goes over from one process of its peer to another, which has come up beside it.
///
/// The other process has a link of its own from the beginning, over which no event leaves. When the present one has ended, what lies in the
/// route's outbox, which has no stream then, is moved there: that is the same way that everything goes from one incarnation to the next.
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
            departed = []
            past.add(link.tally.tally)
        }
    }

    /// Whether this link's process is to take the place of the present one.
    func isSuccessor(_ link: Link) -> Bool { lock.withLock { successor === link } }

    /// Puts the link of a process that is ready in the place of the present one, whose own process has ended, with all that lies there.
    ///
    /// If the link has ended in this moment nothing is moved: its process was the last one, and the next start gets it all.
    package func succeed(by next: Link) {
        let moved: (retired: Link, left: [Link])? = lock.withLock {
            guard successor === next, !next.hasEnded else { return nil }
            successor = nil
            let retired = current
            _ = retired.retire(movingTo: next)
            past.add(retired.tally.tally)
            next.setPaused(isPaused)
            current = next
            defer { departed = [] }
            return (retired, departed + [retired])
        }
        guard let moved else { return }
        moved.retired.wakeWaiters()
        release(next, after: moved.left)
    }

    /// Lets events leave as soon as nobody is between the outboxes of several peers any more with one that has come from here.
    ///
    /// The links that it was put into have ended, so no others follow: a thread that publishes needs microseconds.
    private func release(_ next: Link, after left: [Link]) {
        if left.contains(where: \.isHolding) {
            poller.schedule(after: Self.holdingTime) { [self] in release(next, after: left) }
        } else {
            next.releaseEvents()
        }
    }

    /// After how many nanoseconds it is looked again whether an event lies in all outboxes.
    private static let holdingTime: UInt64 = 50_000

    /// The link of the process that has offered an event, the present one or the one beside it; nil if it does not run.
    func link(toPeerOf id: EventID) -> Link? {
        let (current, successor) = lock.withLock { (self.current, self.successor) }
        if current.isPeer(id.origin, id.incarnation) { return current }
        return successor.flatMap { $0.isPeer(id.origin, id.incarnation) ? $0 : nil }
    }
}
