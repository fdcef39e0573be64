import Locks
import Supervision

/// Collects, while the bridge runs, what decides on the run's end and its exit status.
final class RunOutcome: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var hasBadInput = false
    private var hasUnreadableInput = false
    private var hasWorkerGivenUp = false
    /// The workers that the run has reported as given up, and that have not come up since.
    private var toldGivenUp: Set<String> = []
    private var hasUnhandledEvents = false
    private var hasNoControlSocket = false
    private var hasUnprintedEvents = false
    private var readyWorkers: Set<String> = []

    /// With `--strict`: a line of the input is wrong.
    func inputWasBad() { lock.withLock { hasBadInput = true } }

    func controlSocketIsMissing() { lock.withLock { hasNoControlSocket = true } }

    /// Standard output took no more, and its reader has not gone.
    func eventsWereNotPrinted() { lock.withLock { hasUnprintedEvents = true } }

    func inputBecameUnreadable() { lock.withLock { hasUnreadableInput = true } }

    func workerBecameReady(_ name: String) {
        lock.withLock {
            readyWorkers.insert(name)
            toldGivenUp.remove(name)
        }
    }

    /// The run has said that the worker was given up.
    func workerWasGivenUp(_ name: String) {
        lock.withLock {
            hasWorkerGivenUp = true
            toldGivenUp.insert(name)
        }
    }

    /// Whether every worker is at rest, and the run has said why each given-up worker was given up.
    ///
    /// A worker's state runs ahead of the reports about it: the worker may have been given up before its ready report
    /// is handled.
    func noWorkerIsLeft(of workers: [ChildStatus]) -> Bool {
        let told = lock.withLock { toldGivenUp }
        return workers.allSatisfy { worker in
            if case .gaveUp = worker.state { told.contains(worker.name) } else { worker.state.isAtRest }
        }
    }

    /// A worker has ended by itself and stays down.
    ///
    /// This is expected of some workers, but only after they were ready once.
    func workerStaysDown(_ name: String) {
        lock.withLock {
            if !readyWorkers.contains(name) { hasWorkerGivenUp = true }
        }
    }

    /// An event was not handled; a line of the input that is refused for its fields does not count here.
    func eventsWereNotHandled() { lock.withLock { hasUnhandledEvents = true } }

    /// The status of the first reason that applies.
    ///
    /// Each reason is more likely to have caused the following ones than the other way round.
    var status: ProgramStatus {
        lock.withLock {
            if hasNoControlSocket { return .system }
            if hasBadInput { return .badInput }
            if hasUnreadableInput { return .noInput }
            if hasWorkerGivenUp { return .workerUnavailable }
            if hasUnhandledEvents { return .unhandledEvents }
            return hasUnprintedEvents ? .output : .success
        }
    }
}
