import Locks

/// Gathers what decides about the exit status while a bridge runs.
final class RunOutcome: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var hasBadInput = false
    private var hasUnreadableInput = false
    private var hasWorkerGivenUp = false
    private var hasUnhandledEvents = false
    private var hasNoControlSocket = false
    private var readyWorkers: Set<String> = []

    /// With `--strict`: a line of the input is wrong.
    func inputWasBad() { lock.withLock { hasBadInput = true } }

    func controlSocketIsMissing() { lock.withLock { hasNoControlSocket = true } }

    func inputBecameUnreadable() { lock.withLock { hasUnreadableInput = true } }

    func workerBecameReady(_ name: String) { lock.withLock { _ = readyWorkers.insert(name) } }

    func workerWasGivenUp() { lock.withLock { hasWorkerGivenUp = true } }

    /// A worker has ended by itself and is not started again: to be expected of some, but not before they were ever ready.
    func workerStaysDown(_ name: String) {
        lock.withLock {
            if !readyWorkers.contains(name) { hasWorkerGivenUp = true }
        }
    }

    /// An event was dropped, refused for another reason than its fields, or is left over.
    func eventsWereNotHandled() { lock.withLock { hasUnhandledEvents = true } }

    /// The first of the reasons that applies: each is more likely to be the cause of the next ones than the other way round.
    var status: ProgramStatus {
        lock.withLock {
            if hasNoControlSocket { return .system }
            if hasBadInput { return .badInput }
            if hasUnreadableInput { return .noInput }
            if hasWorkerGivenUp { return .workerUnavailable }
            return hasUnhandledEvents ? .unhandledEvents : .success
        }
    }
}
