import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Checks now and then whether a worker lives, is idle, or takes too long over an event.
extension WorkerIncarnation {
    /// Checks once per interval whether the worker has been silent for too long.
    ///
    /// Silence counts only while the reading thread waits for the worker: as long as there are unread bytes, the worker
    /// is not silent. A check that is late, because this process or the machine was stopped, starts counting afresh.
    ///
    /// A worker that speaks lines is not watched: it writes only when it has something to say.
    func watchHeartbeat() {
        if link.speaksLines { return }
        if let watch = SilenceWatch(specification.child.heartbeat, from: .onMonotonicClock) { look(watch) }
    }

    /// The name and id of the event that the worker is handling; nil if the shared memory does not show one.
    private var busyWith: String? {
        guard let work = link.peerWork, let sequence = work.inline ?? work.oldest,
            let event = link.unsettledEvent(sequence)
        else { return nil }
        return "\(event.name) (\(event.id))"
    }

    private func look(_ watch: SilenceWatch) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            let now = MonotonicClock.now()
            let silence = link.silence(at: now).map { Duration.nanoseconds(Int64(clamping: $0)) }
            guard let silence = watch.looked(at: .nanoseconds(Int64(clamping: now)), silence: silence) else {
                return look(watch)
            }
            // A worker that a debugger holds cannot answer; afterwards it has all of its time again.
            if isBeingDebugged { return watchHeartbeat() }
            owner?.incarnationMissedHeartbeats(self, after: silence, busyWith: busyWith)
        }
    }

    /// Checks several times within the idle time whether a worker on demand has had nothing to do.
    ///
    /// Nothing is counted while events pass.
    func watchIdleness() {
        guard let onDemand = specification.child.onDemand else { return }
        look(IdleWatch(onDemand, from: .onMonotonicClock))
    }

    private func look(_ watch: IdleWatch) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            // Read before `isQuiet`: the last check, under the link's lock, then sees what has moved in between.
            let activity = link.activity
            let isIdle = watch.looked(at: .onMonotonicClock, activity: link.isQuiet ? activity : nil)
            guard isIdle, link.keepEventsIfIdle(since: activity) else { return look(watch) }
            owner?.incarnationIdled(self)
        }
    }

    /// Checks several times within the frames' deadline whether the worker goes on with a frame that it has begun.
    func watchFrames() {
        guard let deadline = specification.limits.frameDeadline else { return }
        look(ProgressWatch(deadline: deadline, from: .onMonotonicClock), deadline)
    }

    private func look(_ watch: ProgressWatch, _ deadline: Duration) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            guard watch.looked(at: .onMonotonicClock, progress: link.unfinishedFrame) else {
                return look(watch, deadline)
            }
            if isBeingDebugged { return watchFrames() }
            violated("a frame that it has begun made no progress for \(deadline.text), which is the limit")
        }
    }

    /// Checks several times within a second whether the worker's process ends too, now that its link has ended without
    /// a goodbye.
    ///
    /// A crash ends link and process at once. The process stays only if the worker has closed its link and lives on,
    /// which breaks the protocol.
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
    /// Nothing is counted while events pass.
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
        if isNews { owner?.incarnationOverran(self, event: text, after: deadline) }
        return true
    }
}
