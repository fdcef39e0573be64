import BridgeProtocol
import DomainEvents
import EventRouting
import Supervision

/// Passes on to the supervisor what happens to the workers' processes and links.
extension HostCore: WorkerIncarnation.Owner {
    func incarnationBecameReady(_ incarnation: WorkerIncarnation) {
        supervisor?.childBecameReady(index: incarnation.index, start: incarnation.number)
    }

    func incarnationSaidGoodbye(_ incarnation: WorkerIncarnation) {
        supervisor?.childDrained(index: incarnation.index, start: incarnation.number)
    }

    func incarnationViolated(_ incarnation: WorkerIncarnation, _ reason: ExitReason) {
        if case .protocolViolation = reason { incarnation.peer.countViolation() }
        supervisor?.childViolated(index: incarnation.index, start: incarnation.number, reason: reason)
    }

    func incarnationMissedHeartbeats(_ incarnation: WorkerIncarnation, after time: Duration, busyWith: String?) {
        supervisor?.heartbeatMissed(
            index: incarnation.index,
            start: incarnation.number,
            after: time,
            busyWith: busyWith
        )
    }

    func incarnationAskedForTime(_ incarnation: WorkerIncarnation, more: Duration, because reason: String) {
        supervisor?.childAskedForTime(
            index: incarnation.index,
            start: incarnation.number,
            more: more,
            because: reason
        )
    }

    func incarnationIdled(_ incarnation: WorkerIncarnation) {
        supervisor?.childIdled(index: incarnation.index, start: incarnation.number)
    }

    func incarnationOverran(_ incarnation: WorkerIncarnation, event: String, after time: Duration) {
        supervisor?.handlerTimedOut(
            index: incarnation.index,
            start: incarnation.number,
            event: event,
            after: time
        )
    }

    func incarnationLostEvents(_ lost: EventsLost) { reports.publish(lost) }

    func incarnationProcessEnded(_ incarnation: WorkerIncarnation, _ reason: ExitReason) {
        supervisor?.childProcessEnded(index: incarnation.index, start: incarnation.number, reason: reason)
    }

    func incarnationEnded(
        _ incarnation: WorkerIncarnation,
        _ reason: ExitReason,
        isOrderly: Bool,
        verdict: CrashLedger.Verdict
    ) {
        // This comes first, as the supervisor's report of the end contains the usage.
        usages.add(incarnation.ending.usage, index: incarnation.index, start: incarnation.number)
        supervisor?.childExited(
            index: incarnation.index,
            start: incarnation.number,
            reason: reason,
            isOrderly: isOrderly,
            blame: ExitBlame(verdict, last: reason)
        )
    }
}

extension ExitBlame {
    fileprivate init(_ verdict: CrashLedger.Verdict, last reason: ExitReason) {
        self =
            switch verdict {
            case .worker: .child
            case .strike, .deadLetter: .elsewhere
            case .broken:
                .beyondHelp(
                    """
                    \(CrashLedger.deadLettersInARow) events in a row were dead-lettered because it crashed over them, \
                    and it handled none between; last: \(reason)
                    """
                )
            }
    }
}
