import Locks
import Supervision

/// Gathers what decides about a run's end and its exit status while the bridge runs.
final class RunOutcome: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var hasBadInput = false
    private var hasUnreadableInput = false
    private var hasWorkerGivenUp = false
    /// The workers that the run has told of as given up, and that have not come up since.
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

    /// Whether every worker is at rest, and the run has said of each that was given up why.
    ///
    /// A worker's state runs ahead of the reports about it: the report that it is ready may be handled when it has been
    /// given up already.
    func noWorkerIsLeft(of workers: [ChildStatus]) -> Bool {
        let told = lock.withLock { toldGivenUp }
        return workers.allSatisfy { worker in
            if case .gaveUp = worker.state { told.contains(worker.name) } else { worker.state.isAtRest }
        }
    }

    /// A worker has ended by itself and is not started again: to be expected of some, but not before they were ever
    /// ready.
    func workerStaysDown(_ name: String) {
        lock.withLock {
            if !readyWorkers.contains(name) { hasWorkerGivenUp = true }
        }
    }

    /// An event was dropped, refused for another reason than its fields, or is left over.
    func eventsWereNotHandled() { lock.withLock { hasUnhandledEvents = true } }

    /// The first of the reasons that applies: each is more likely to be the cause of the next ones than the other way
    /// round.
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
