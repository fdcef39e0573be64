import BridgePlatform
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// What the supervisor has done: time, requests to workers, and the end of all.
extension HostCore: SupervisorEnvironment {
    var now: Duration { .onMonotonicClock }

    func drain(index: Int, within grace: Duration) { present(index)?.drain(grace: grace) }

    func watchDemand(index: Int) {
        let route = worker(index).route
        router.forgetInterest(of: route)
        route.whenDemanded { [weak self, poller] in
            // The publisher's thread starts no processes. A poller that takes nothing is at its end, and so is the
            // bridge.
            poller.perform { [weak self] in self?.supervisor?.demandArose(index: index) }
        }
    }

    func signal(index: Int, _ signal: ChildSignal) { present(index)?.signal(signal) }

    func signal(index: Int, _ signal: SignalNumber) -> Int32? { present(index)?.signal(signal) }

    func isBeingDebugged(index: Int, incarnation: Int) -> Bool {
        worker(index).starts[incarnation]?.isBeingDebugged ?? false
    }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> any SupervisorTimer {
        ScheduledTimer(timer: poller.schedule(after: delay.nanoseconds, body))
    }

    func automaticShutdownBegan(index: Int) {
        // The host takes nothing new: no worker is started again for it.
        router.closeIntake()
        reports.publish(BridgeEnding(worker: worker(index).route.peerName))
        Task(executorPreference: Simulation.taskExecutor) { [self] in
            await settle(within: Self.drainingTime)
            supervisor?.stopRequested()
        }
    }

    // MARK: - What becomes of the workers

    /// Tells what has become of a worker: on the status board, and by events.
    func statusChanged(index: Int, _ status: ChildStatus, reason: ExitReason?) {
        let (route, output) = lock.withLock { (workers[index].route, workers[index].output) }
        // First of all: a subscriber that hears that a worker is down finds that the worker takes nothing.
        if case .gaveUp(let why) = status.state {
            route.close(because: "it was given up: \(why)", isGivenUp: true)
            router.peerIsUnavailable(route)
        } else if status.state == .stopped {
            route.close(because: "it was stopped")
            router.peerIsUnavailable(route)
        }
        route.setStartsByItself(status.startsByItself)
        let before = statusBoard.changed(index, to: filled(status, of: index))
        if let reason {
            let incarnation = lock.withLock { status.deaths.last.flatMap { workers[index].starts[$0.incarnation] } }
            let (ending, lastOutput) = (incarnation?.ending, incarnation?.lastOutput)
            lock.withLock { workers[index].lastOutput = lastOutput }
            output.tell()
            reports.publish(
                WorkerExited(
                    worker: status.name,
                    pid: incarnation?.pid,
                    reason: reason.description,
                    next: status.state.description,
                    wasAsked: status.deaths.last?.wasAsked ?? false,
                    outbox: incarnation?.takenOver.map(WorkerExited.Outbox.init),
                    exit: ending?.exit.flatMap(WorkerExited.Exit.init),
                    usage: ending?.usage,
                    lastOutput: lastOutput
                ),
                bytes: lastOutput?.utf8.count ?? 0
            )
            lock.withLock { workers[index].starts.forgetFormer() }
        }
        // A change of the process beside it alone was reported above.
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
        case .gaveUp(let why):
            let lastOutput = worker(index).lastOutput
            reports.publish(
                WorkerGaveUp(worker: status.name, reason: why, lastOutput: lastOutput),
                bytes: lastOutput?.utf8.count ?? 0
            )
        default: break
        }
    }
}

private struct ScheduledTimer: SupervisorTimer {
    let timer: Poller.Timer

    func cancel() {
        // A call from inside another timer's call is possible; a timer that fires late is recognised by its token.
        timer.cancelWithoutWaiting()
    }
}

extension ChildStatus {
    /// Whether the worker runs, or is started without the end of any other.
    ///
    /// It does not if its start is yet to be requested after it was added, if it waits for workers before it in a start
    /// in sequence, or if its group is still going down.
    var startsByItself: Bool {
        switch state {
        case .idle: false
        // If it waits, its last start is over.
        case .starting: starts > deaths.last?.incarnation ?? 0
        case .backingOff(_, let until): until != nil
        case .ready, .draining, .stopping, .dormant, .stopped, .gaveUp: true
        }
    }
}
