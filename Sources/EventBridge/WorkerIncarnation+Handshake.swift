import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// How a start of a worker comes to get events: by its handshake, and, if it replaces another process, by the end of
/// that process.
extension WorkerIncarnation {
    /// How many scalars of a worker's reason for more time are passed on.
    private static let longestReason = 200

    var publishable: Set<EventName>? { specification.publishable }

    var mayImport: Bool { specification.mayImport }

    var router: EventRouter? { host?.router }

    var heartbeat: Heartbeat { specification.child.heartbeat }
    var frameDeadline: Duration? { specification.limits.frameDeadline }

    func judge(_ hello: Hello) -> HostHandshake.Outcome {
        HostHandshake.helloReceived(hello, expecting: cookie)
    }

    func guestWasRejected(_ reject: Reject) {
        handshakeFailed(reject.text)
    }

    private func handshakeFailed(_ text: String) {
        supervisor?.childViolated(index: index, start: number, reason: .handshakeRejected(text))
    }

    func guestIsReady() {
        guard let router else { return }
        let missing = router.missingInterest(of: peer, in: specification.subscribes, over: link)
        guard missing.isEmpty else {
            return handshakeFailed(
                "it says that it is ready but has not subscribed to \(missing.sorted().joined(separator: ", "))"
            )
        }
        let (isSuccessor, isKept) = lock.withLock {
            isReady = true
            return (self.isSuccessor, keepsEvents)
        }
        if !isSuccessor, !isKept { peer.releaseEvents(over: link) }
        supervisor?.childBecameReady(index: index, start: number)
        watchSilence()
        watchHandlers()
        watchFrames()
        if !isSuccessor { watchIdleness() }
    }

    func guestSaid(_ message: ControlMessage) {
        switch message {
        case .moreTime(let milliseconds, let reason):
            let (more, text) = (
                milliseconds.clamped(to: 0...Int(Int64.max)), reason.shortened(toScalars: Self.longestReason)
            )
            supervisor?.childAskedForTime(index: index, start: number, more: .milliseconds(more), because: text)
        // A worker that breaks off has not finished what it had: its end is a crash.
        case .goodbye(let goodbye) where goodbye.isOrderly:
            lock.withLock { end.goodbyeReceived() }
            supervisor?.childDrained(index: index, start: number)
        default: return
        }
    }

    func guestWasSilent(for time: Duration) {
        // A worker that a debugger holds cannot answer; afterwards it has all of its time again.
        if isBeingDebugged { return watchSilence() }
        supervisor?.heartbeatMissed(index: index, start: number, after: time, busyWith: busyWith)
    }

    func guestStalled(_ text: String) {
        if isBeingDebugged { return watchFrames() }
        // A worker that stands still may have been found silent first: then the host is ending it already.
        if isBeingEnded { return }
        violated(text)
    }

    /// The name and id of the event that the worker is handling; nil if the shared memory does not show one.
    private var busyWith: String? {
        guard let work = link.peerWork, let sequence = work.inline ?? work.oldest,
            let event = link.unsettledEvent(sequence)
        else { return nil }
        return "\(event.name) (\(event.id))"
    }

    // MARK: - Replacement

    /// Sends no more events to this process: the host keeps them for the next process.
    ///
    /// - Returns: Whether this start had been ready. If not, its link still lets events pass, as the next start may use
    ///   the same link.
    func keepEvents() -> Bool {
        let wasReady = lock.withLock {
            keepsEvents = true
            return isReady
        }
        if wasReady { link.keepEvents() }
        return wasReady
    }

    /// Sends events to this process again: it was idle, but stays for now.
    ///
    /// After ``keepEvents()`` this does nothing.
    func letEventsLeave() {
        if !lock.withLock({ keepsEvents }) { link.letEventsLeave() }
    }

    /// Takes the place of the previous process, which has ended, and gets the events kept for the worker.
    func cutOver() {
        lock.withLock { isSuccessor = false }
        peer.succeed(by: link)
        watchIdleness()
    }
}

extension WorkerSpecification {
    /// The names of the events that the worker may publish, with its runtime's own reports; nil for any.
    var publishable: Set<EventName>? {
        let always = [
            EventRefused.eventName, EventsDropped.eventName, EventsTraced.eventName, HandlerFailed.eventName,
        ]
        return publishes.map { EventName.set($0 + always) }
    }
}
