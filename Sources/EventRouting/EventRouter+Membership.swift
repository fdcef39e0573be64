import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// Peers that come and go while events flow.
extension EventRouter {
    /// Adds peers and lets others leave in one step: each event goes either to the peers before the step or to those
    /// after it, never to both and never to none.
    ///
    /// From now on, events in the specifications of new peers are kept for them. A leaving peer gets no more events of
    /// its specification. It still gets events that it asked for besides, such as answers, until its interest is
    /// forgotten.
    package func exchange(adding new: [Peer], leaving gone: [Peer] = []) {
        let changes = lock.withLock {
            for peer in gone { peer.isLeaving = true }
            peers += new
            for peer in new where formerlyOwed.contains(peer.peerName) { peer.link.willOwe() }
            if trace.isOn { for peer in new { peer.setTrace(trace.recorder) } }
            for name in new.flatMap(\.specified) where name != EventName.everything { _ = named(name.text) }
            // The lock is kept until the targets have changed: an update for only one of these peers would leave the
            // others' events without a receiver.
            return changeTargets(of: names.all, changedBy: nil)
        }
        tell(changes)
        // Within one hold of the lock: see ``hasLeft(_:oneOf:)``.
        lock.withLock { for peer in gone { peer.leave(but: selfReports) } }
        // A publisher that waits for room at a leaving peer does not need it: its event goes to other peers now.
        for peer in gone { peer.link.wakeSenders() }
    }

    /// Whether one of these peers has left the events of this name to others, also in a step that is under way.
    func hasLeft(_ name: String, oneOf peers: [Peer]) -> Bool {
        lock.withLock { peers.contains { $0.hasLeft(name) } }
    }

    /// Forgets a peer that is gone for good, and keeps its unhandled events as dead letters, without self-reports and
    /// replayed events; announces the events for which there is no room.
    package func retire(_ peer: Peer) {
        remove(peer)
        let hadOwed = peer.link.hasOwed
        let left = peer.takeLeft()
        // An event that a process of the peer has had may be handled; its letter may go to the next peer of this name.
        if hadOwed || left.contains(where: { $0.attempts > 0 }) {
            lock.withLock { _ = formerlyOwed.insert(peer.peerName) }
        }
        let reason = "worker \"\(peer.peerName)\" was removed"
        for event in left where !isSelfReport(event.name) {
            // The journal still has a replayed event, so only the operator who waits for it is told.
            if event.context.isReplay {
                tell(event.context.id, .unavailable, at: peer, because: reason)
                continue
            }
            let isKept =
                deadLetters?.addIfRoom(
                    event,
                    for: peer.noted,
                    cause: .workerUnavailable,
                    reasons: event.strikes + [reason]
                ) ?? false
            if isKept { continue }
            if event.isOwed { settled(event.context.id, at: peer) }
            losses.add(
                event: event.name,
                id: event.context.id,
                link: peer.peerName,
                reason: "\(reason), and the dead letters are full"
            )
        }
    }

    // MARK: - A process that makes room for another

    /// Gives the peer another specification, which decides from now on which events are kept for it.
    package func adopt(_ names: [String], for peer: Peer) {
        lock.withLock {
            peer.specify(EventName.set(names))
            for name in names where name != EventName.everything.text { _ = named(name) }
        }
        updateTargets()
    }

    /// Lets the wishes of the peer's successor count from now on, if the peer has a successor.
    ///
    /// The present process is still told what is wanted of it: it may publish until its end.
    package func successorCutsOver(_ peer: Peer) {
        if lock.withLock({ peer.interest.cutOver() }) { updateTargets() }
    }

    /// Called when the former process has ended and its successor is the present process.
    package func successorTookOver(_ peer: Peer) {
        successorCutsOver(peer)
        lock.withLock { peer.interest.forgetFormer() }
    }

    /// Called when the successor has ended before it took the present process's place.
    package func successorEnded(_ peer: Peer) {
        lock.withLock { peer.interest.forgetNext() }
    }
}

extension Peer {
    /// Takes out all events that the peer has not acknowledged, oldest first; the peer has no process and will have
    /// none.
    fileprivate func takeLeft() -> [UndeliveredEvent] {
        let last = link
        if last.hasEnded { renew(after: last) }
        let (left, retired) = lock.withLock {
            let retired = current
            let left = retired.retireForGood()
            counts.deadLettered += UInt64(left.count)
            putInPlace(makeLink())
            return (left, retired)
        }
        retired.wakeWaiters()
        return left
    }
}
