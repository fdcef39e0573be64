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
        router.forgetInterest(of: routes[index])
        routes[index].whenDemanded { [weak self, poller] in
            // Whoever publishes does not start processes. A poller that takes nothing is at its end, and so is the bridge.
            poller.perform { [weak self] in self?.supervisor?.demandArose(index: index) }
        }
    }

    func signal(index: Int, _ signal: ChildSignal) { present(index)?.signal(signal) }

    func isBeingDebugged(index: Int, incarnation: Int) -> Bool {
        lock.withLock { incarnations[index][incarnation] }?.isBeingDebugged ?? false
    }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> any SupervisorTimer {
        ScheduledTimer(timer: poller.schedule(after: delay.nanoseconds, body))
    }

    func automaticShutdownBegan(index: Int) {
        // Nothing new is taken: nobody is started again for it.
        router.closeIntake()
        reports.publish(BridgeEnding(worker: routes[index].peerName))
        Task(executorPreference: Simulation.taskExecutor) { [self] in
            await settle(within: Self.drainingTime)
            supervisor?.stopRequested()
        }
    }
}

private struct ScheduledTimer: SupervisorTimer {
    let timer: Poller.Timer

    func cancel() {
        // May be called from inside another timer's call; one that fires late is recognised by its token.
        timer.cancelWithoutWaiting()
    }
}
