import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// Peers that come and go while events flow.
extension EventRouter {
    /// Adds peers and lets others leave, from one moment on: each event goes by what was before or by what is after,
    /// and so neither to a peer twice over nor to none.
    ///
    /// What the specifications of new peers say is kept for them from now on. One that leaves gets no more of what its
    /// own one says; what it had asked for besides, such as answers, it gets until that is forgotten.
    package func exchange(adding new: [Route], leaving gone: [Route] = []) {
        lock.withLock {
            for route in gone { route.isLeaving = true }
            routes += new
            if trace.isOn { for route in new { route.setTrace(trace.recorder) } }
            for name in new.flatMap(\.specified) where name != EventName.everything { _ = named(name.text) }
        }
        updateTargets()
        lock.withLock { for route in gone { route.leave(but: selfReports) } }
    }

    /// Forgets a peer of which nothing is left, and keeps what it has not handled as dead letters; what they have no
    /// room for is announced.
    package func retire(_ route: Route) {
        remove(route)
        let reason = "worker \"\(route.peerName)\" was removed"
        for event in route.takeLeft() where !isSelfReport(event.name) {
            let isKept =
                deadLetters?.addIfRoom(
                    event,
                    for: route.peerName,
                    cause: .workerUnavailable,
                    reasons: event.strikes + [reason]
                ) ?? false
            if isKept { continue }
            losses.add(
                event: event.name,
                id: event.context.id,
                link: route.peerName,
                reason: "\(reason), and the dead letters are full"
            )
        }
    }

    // MARK: - A process that makes room for another

    /// What is kept for the peer follows another specification from now on.
    package func adopt(_ names: [String], for route: Route) {
        lock.withLock {
            route.specify(EventName.set(names))
            for name in names where name != EventName.everything.text { _ = named(name) }
        }
        updateTargets()
    }

    /// From now on the wishes of the process count that is to take the present one's place, if there is one.
    ///
    /// The present one still hears what is wanted of it: it may publish until its end.
    package func successorTakesOver(_ route: Route) {
        if lock.withLock({ route.interest.takeOver() }) { updateTargets() }
    }

    /// The process before has ended, and the one that was beside it is the present one.
    package func successorTookOver(_ route: Route) {
        successorTakesOver(route)
        lock.withLock { route.interest.forgetFormer() }
    }

    /// The process that was to take the present one's place has ended.
    package func successorEnded(_ route: Route) {
        lock.withLock { route.interest.forgetNext() }
    }
}

extension Route {
    /// Takes out everything that the peer has not acknowledged, oldest first: there is no process of it, and will be
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
