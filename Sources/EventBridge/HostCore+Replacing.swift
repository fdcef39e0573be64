import DomainEvents
import EventRouting
import Locks
import Supervision

/// A replacement that a caller waits for.
struct PendingReplacement {
    let index: Int
    let specification: WorkerSpecification
    let continuation: CheckedContinuation<ReplacementOutcome, Never>
    /// Whether a process was started for the replacement.
    var isStarted = false
}

/// Puts another process in a worker's place: `SupervisorStateMachine` decides, and the peer changes from the old to the
/// new link.
extension HostCore {
    /// Replaces a worker's process, and returns the outcome.
    ///
    /// Cancelling the task gives up a replacement that has not begun to hand over; otherwise the replacement goes on.
    func replace(
        _ index: Int,
        with specification: WorkerSpecification,
        handingOverWithin limit: Duration
    ) async -> ReplacementOutcome {
        let number = lock.withLock {
            lastReplacement += 1
            return lastReplacement
        }
        let request = ReplacementRequest(number: number, specification: specification.child, grace: limit)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let pending = PendingReplacement(index: index, specification: specification, continuation: continuation)
                lock.withLock { replacements[number] = pending }
                supervisor?.replaceRequested(index: index, request)
                // If the task was cancelled earlier, its handler had nothing to call off yet.
                if Task.isCancelled { supervisor?.replacementCalledOff(request: number) }
            }
        } onCancel: {
            Simulation.undivided { supervisor?.replacementCalledOff(request: number) }
        }
    }

    func signalSuccessor(index: Int, _ signal: ChildSignal) {
        worker(index).starts.successor?.signal(signal)
    }

    func adoptSpecification(index: Int, request: Int) {
        let adopted = lock.withLock {
            let adopted = replacements[request]?.specification
            if let adopted { workers[index].specification = adopted }
            return adopted
        }
        if let adopted { router.adopt(adopted.subscribes, for: worker(index).peer) }
    }

    func keepEvents(index: Int) {
        // Sending stops before the interest of the next process counts: the present process may have no handlers for
        // these events. If the present process was never ready, its own interest has never counted.
        if present(index)?.keepEvents() == true { router.successorCutsOver(worker(index).peer) }
    }

    func letEventsLeave(index: Int) { present(index)?.letEventsLeave() }

    func cutOver(index: Int, start: Int) {
        let next = lock.withLock { workers[index].starts.cutOver() }
        router.successorTookOver(worker(index).peer)
        next?.cutOver()
    }

    func replacementConcluded(request: Int, _ outcome: ReplacementOutcome) {
        guard let pending = lock.withLock({ replacements.removeValue(forKey: request) }) else { return }
        let (index, name) = (pending.index, pending.specification.name)
        if pending.isStarted, !outcome.hasNewProcess { forgetSuccessor(index) }
        switch outcome {
        case .replaced(let old, let new):
            if let new { reports.publish(WorkerReplaced(worker: name, oldPID: old, newPID: new)) }
        case .exchanged: break
        case .failed(let why): reports.publish(WorkerNotReplaced(worker: name, reason: why))
        }
        reports.whenPassed { pending.continuation.resume(returning: outcome) }
    }

    private func forgetSuccessor(_ index: Int) {
        let peer = worker(index).peer
        router.successorEnded(peer)
        let link = lock.withLock {
            defer { workers[index].starts.forgetSuccessor() }
            return workers[index].starts.successor?.link
        }
        // If no process was started, nothing else reports the link's end.
        if let link { peer.forgetSuccessor(link) }
    }
}

extension ReplacementOutcome {
    fileprivate var hasNewProcess: Bool {
        if case .replaced = self { true } else { false }
    }
}
