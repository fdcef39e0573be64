import Locks
import Supervision

/// Collects, while the bridge runs, the facts that decide when the run ends and what its exit status is.
final class RunOutcome: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var hasBadInput = false
    private var hasUnreadableInput = false
    private var hasWorkerGivenUp = false
    /// The workers that the run has reported as given up, and that have not come up since.
    private var toldGivenUp: Set<String> = []
    private var hasUnhandledEvents = false
    private var hasNotStarted = false
    private var hasUnprintedEvents = false
    private var readyWorkers: Set<String> = []

    /// Notes that a line of the input is wrong; called only with `--strict`.
    func inputWasBad() { lock.withLock { hasBadInput = true } }

    /// Notes that the control socket cannot be made, or that what a killed supervisor has left cannot be read.
    func bridgeDidNotStart() { lock.withLock { hasNotStarted = true } }

    /// Notes that standard output took no more events, although its reader has not gone.
    func eventsWereNotPrinted() { lock.withLock { hasUnprintedEvents = true } }

    func inputBecameUnreadable() { lock.withLock { hasUnreadableInput = true } }

    func workerBecameReady(_ name: String) {
        lock.withLock {
            readyWorkers.insert(name)
            toldGivenUp.remove(name)
        }
    }

    /// Notes that the run has said that the worker was given up.
    func workerWasGivenUp(_ name: String) {
        lock.withLock {
            hasWorkerGivenUp = true
            toldGivenUp.insert(name)
        }
    }

    /// Whether the run has said that the worker was given up, and the worker has not come up since.
    func isToldGivenUp(_ name: String) -> Bool { lock.withLock { toldGivenUp.contains(name) } }

    /// Whether every worker is at rest, and the run has said why each given-up worker was given up.
    ///
    /// The state alone is not enough, because it changes before the reports about the worker are handled: a worker may
    /// have been given up while the report of its readiness is still unhandled.
    func noWorkerIsLeft(of workers: [ChildStatus]) -> Bool {
        let told = lock.withLock { toldGivenUp }
        return workers.allSatisfy { worker in
            if case .gaveUp = worker.state { told.contains(worker.name) } else { worker.state.isAtRest }
        }
    }

    /// Notes that a worker has ended by itself and stays down.
    ///
    /// For a worker that was never ready, this counts as giving up.
    func workerStaysDown(_ name: String) {
        lock.withLock {
            if !readyWorkers.contains(name) { hasWorkerGivenUp = true }
        }
    }

    /// Notes that an event was not handled; not called for a line of the input that is refused for its fields.
    func eventsWereNotHandled() { lock.withLock { hasUnhandledEvents = true } }

    /// The status of the first reason that applies.
    ///
    /// The reasons are ordered so that an earlier one is more likely to have caused a later one than the reverse.
    var status: ProgramStatus {
        lock.withLock {
            if hasNotStarted { return .system }
            if hasBadInput { return .badInput }
            if hasUnreadableInput { return .noInput }
            if hasWorkerGivenUp { return .workerUnavailable }
            if hasUnhandledEvents { return .unhandledEvents }
            return hasUnprintedEvents ? .output : .success
        }
    }
}
