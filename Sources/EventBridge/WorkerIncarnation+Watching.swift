import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Checks now and then whether a worker is idle, takes too long over an event, or lives on without its link.
extension WorkerIncarnation {
    /// Checks several times within the idle time whether a worker on demand has had nothing to do.
    ///
    /// This adds no cost to an event.
    func watchIdleness() {
        guard let onDemand = specification.child.onDemand else { return }
        look(IdleWatch(onDemand, from: .onMonotonicClock))
    }

    private func look(_ watch: IdleWatch) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            // Read before `isQuiet`: `keepEventsIfIdle` then notices, under the link's lock, what has moved in between.
            let activity = link.activity
            let isIdle = watch.looked(at: .onMonotonicClock, activity: link.isQuiet ? activity : nil)
            guard isIdle, link.keepEventsIfIdle(since: activity) else { return look(watch) }
            supervisor?.childIdled(index: index, start: number)
        }
    }

    /// Checks several times within a second whether the worker's process ends too, now that its link has ended without
    /// an orderly goodbye.
    ///
    /// A crash ends the link and the process together. The process stays only if the worker has closed its link and
    /// lives on, which breaks the protocol.
    func watchExit(_ fault: String) { look(ProgressWatch(deadline: .seconds(1), from: .onMonotonicClock), fault) }

    private func look(_ watch: ProgressWatch, _ fault: String) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !hasExited else { return }
            var watch = watch
            if watch.looked(at: .onMonotonicClock, progress: 0) { violated(fault) } else { look(watch, fault) }
        }
    }

    // MARK: - Handlers

    /// Checks several times within the handlers' deadline which events the worker is handling.
    ///
    /// This adds no cost to an event.
    func watchHandlers() {
        guard let deadline = specification.limits.handlerDeadline else { return }
        look(HandlerWatch(deadline: deadline, from: .onMonotonicClock), deadline)
    }

    private func look(_ watch: HandlerWatch, _ deadline: Duration) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            let work = link.peerWork.map { HandlerWatch.Work(inline: $0.inline, oldest: $0.oldest) }
            let overdue = watch.looked(at: .onMonotonicClock, work: work)
            if !overdue.isEmpty, isBeingDebugged { return watchHandlers() }
            if !overdue.contains(where: { self.handlerOverran($0, deadline) }) { look(watch, deadline) }
        }
    }

    /// Ends the worker, unless the overdue event has just been finished.
    ///
    /// - Returns: Whether the worker is being ended, for this or another reason.
    private func handlerOverran(_ overdue: HandlerWatch.Overdue, _ deadline: Duration) -> Bool {
        // An event that the link does not know has just been finished, or was never an event of this host.
        guard let event = link.unsettledEvent(overdue.event) else { return false }
        let text = "\(event.name) (\(event.id))"
        let isNews = lock.withLock {
            guard exit == nil else { return false }
            var fault = EndRecord.Fault(reason: .handlerTimedOut(event: text, after: deadline))
            // If several events were begun, any of them may hold up the others.
            if case .inline = overdue { fault.suspects = [event.id] }
            return end.faultWasFound(fault)
        }
        if isNews { supervisor?.handlerTimedOut(index: index, start: number, event: text, after: deadline) }
        return true
    }
}
