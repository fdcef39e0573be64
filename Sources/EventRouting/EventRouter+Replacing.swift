import DomainEvents
import Locks

/// What the router has to do with a worker whose process makes room for another.
extension EventRouter {
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
        let isNew = lock.withLock {
            guard let next = route.nextInterest else { return false }
            route.formerInterest = route.interest
            route.interest = next
            route.nextInterest = nil
            return true
        }
        if isNew { updateTargets() }
    }

    /// The process before has ended, and the one that was beside it is the present one.
    package func successorTookOver(_ route: Route) {
        successorTakesOver(route)
        lock.withLock { route.formerInterest = nil }
    }

    /// The process that was to take the present one's place has ended.
    package func successorEnded(_ route: Route) {
        lock.withLock { route.nextInterest = nil }
    }
}
