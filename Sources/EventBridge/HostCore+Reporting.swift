import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Tells what has become of the workers: on the status board, and by events.
extension HostCore {
    func statusChanged(index: Int, _ status: ChildStatus, reason: ExitReason?) {
        // Before anybody is told: who hears that a worker is down finds that it takes nothing.
        if case .gaveUp(let why) = status.state {
            routes[index].close(because: "it was given up: \(why)", isGivenUp: true)
            router.peerIsUnavailable(routes[index])
        } else if status.state == .stopped {
            routes[index].close(because: "it was stopped")
            router.peerIsUnavailable(routes[index])
        }
        routes[index].setStartsByItself(status.startsByItself)
        let before = statusBoard.changed(index, to: filled(status, of: index))
        if let reason {
            let incarnation = lock.withLock { status.deaths.last.flatMap { incarnations[index][$0.incarnation] } }
            let ending = incarnation?.ending
            outputs[index].tell()
            reports.publish(
                WorkerExited(
                    worker: status.name,
                    pid: incarnation?.pid,
                    reason: reason.description,
                    next: status.state.description,
                    wasAsked: status.deaths.last?.wasAsked ?? false,
                    outbox: incarnation?.takenOver.map(WorkerExited.Outbox.init),
                    exit: ending?.exit.flatMap(WorkerExited.Exit.init),
                    usage: ending?.usage
                )
            )
            lock.withLock { incarnations[index].forgetFormer() }
        }
        // What only the process beside it has changed was said before.
        guard before.state != status.state || before.starts != status.starts || before.pid != status.pid else { return }
        switch status.state {
        case .stopping:
            if reason == nil, let pid = status.pid, case .unresponsive(let silence, let busyWith)? = status.fault {
                reports.publish(
                    WorkerUnresponsive(
                        worker: status.name,
                        pid: pid,
                        silentMilliseconds: silence.milliseconds,
                        busyWith: busyWith
                    )
                )
            }
        case .ready:
            if let pid = status.pid {
                reports.publish(WorkerReady(worker: status.name, pid: pid, start: status.starts))
            }
        case .gaveUp(let why): reports.publish(WorkerGaveUp(worker: status.name, reason: why))
        default: break
        }
    }
}

extension ChildStatus {
    /// Whether it runs, or is started without anybody else's end.
    ///
    /// Not one that was added and whose start is yet to be asked for, that waits for those before it in a start in sequence, or whose group
    /// is still going down.
    var startsByItself: Bool {
        switch state {
        case .idle: false
        // Of one that waits the last start is over.
        case .starting: starts > deaths.last?.incarnation ?? 0
        case .backingOff(_, let until): until != nil
        case .ready, .draining, .stopping, .dormant, .stopped, .gaveUp: true
        }
    }
}
