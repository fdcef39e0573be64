import BridgePlatform
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// What the supervisor asks of the host: the time, requests to workers, and the end of everything.
extension HostCore: SupervisorEnvironment {
    var now: Duration { .onMonotonicClock }

    func drain(index: Int, within grace: Duration) { present(index)?.drain(grace: grace) }

    func watchDemand(index: Int) {
        let peer = worker(index).peer
        router.forgetInterest(of: peer)
        peer.whenDemanded { [weak self, poller] in
            // The poller's thread starts the process, because a publishing thread must start none. If the poller takes
            // no more work, the bridge has ended too.
            poller.perform { [weak self] in self?.supervisor?.demandArose(index: index) }
        }
    }

    func signal(index: Int, _ signal: ChildSignal) { present(index)?.signal(signal) }

    func signal(index: Int, _ signal: SignalNumber) -> Int32? { present(index)?.signal(signal) }

    func isBeingDebugged(index: Int, start: Int) -> Bool {
        worker(index).starts[start]?.isBeingDebugged ?? false
    }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> any SupervisorTimer {
        ScheduledTimer(timer: poller.schedule(after: delay.nanoseconds, body))
    }

    func automaticShutdownBegan(index: Int) {
        // The intake is closed first, so that no new event starts a worker again.
        router.closeIntake()
        reports.publish(BridgeEnding(worker: worker(index).peer.peerName))
        Task(executorPreference: Simulation.taskExecutor) { [self] in
            await settle(within: Self.drainingTime)
            supervisor?.stopRequested()
        }
    }

    // MARK: - What becomes of the workers

    /// Takes no events for a worker that is down, until a caller asks for its start.
    private func close(_ peer: Peer, because reason: String, isGivenUp: Bool = false) {
        peer.close(because: reason, isGivenUp: isGivenUp)
        router.peerIsUnavailable(peer)
        // The worker's next process asks for these names anew. In a shutdown there is no next process: the names stay,
        // so that `EventsDropped` announces events that are still published for this worker.
        if !router.hasClosedIntake { router.forgetInterest(of: peer) }
    }

    /// Reports what has become of a worker: to the status board, and as events.
    func statusChanged(index: Int, _ status: ChildStatus, reason: ExitReason?) {
        let (peer, output) = lock.withLock { (workers[index].peer, workers[index].output) }
        // This comes first: a subscriber that learns of a worker's end finds that the worker takes no more events.
        if case .gaveUp(let why) = status.state {
            close(peer, because: "it was given up: \(why)", isGivenUp: true)
        } else if status.state == .stopped {
            close(peer, because: "it was stopped")
        }
        peer.setStartsByItself(status.startsByItself)
        // The worker takes events from the request on. In a start in sequence, the launch may come long after that.
        if status.state == .starting { peer.reopen() }
        let before = statusBoard.changed(index, to: filled(status, of: index))
        if let reason {
            let incarnation = lock.withLock { status.deaths.last.flatMap { workers[index].starts[$0.start] } }
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
                    outbox: incarnation?.recoveredOutbox.map(WorkerExited.Outbox.init),
                    exit: ending?.exit.flatMap(WorkerExited.Exit.init),
                    usage: ending?.usage,
                    lastOutput: lastOutput
                ),
                bytes: lastOutput?.utf8.count ?? 0
            )
            lock.withLock { workers[index].starts.forgetFormer() }
        }
        // If only the replacement process has changed, the status board has the change already, and there is no event.
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
        // This may run inside another timer's call, so it must not wait; the supervisor ignores a late firing.
        timer.cancelWithoutWaiting()
    }
}

extension ChildStatus {
    /// Whether the worker runs, or its next start waits for no other worker.
    ///
    /// False for an added worker before its start is requested, for a worker that waits for earlier workers in a start
    /// in sequence, and for a worker while the siblings that restart with it are still being stopped.
    var startsByItself: Bool {
        switch state {
        case .notStarted: false
        // While the worker waits for others, it has had no start since its last death.
        case .starting: starts > deaths.last?.start ?? 0
        case .backingOff(_, let until): until != nil
        case .ready, .draining, .stopping, .dormant, .stopped, .gaveUp: true
        }
    }
}
