import Dispatch
import Synchronization

/// Runs the steps of one task on the thread that gives the task something to do, or else on a queue.
///
/// So a thread that gives something need not wake up another one.
final class StepExecutor: TaskExecutor {
    private struct State {
        var steps: [UnownedJob] = []
        /// Whether a thread runs the steps, or a queue will.
        var isRunning = false

        /// - Returns: True if no thread ran the steps before.
        mutating func run() -> Bool {
            defer { isRunning = true }
            return !isRunning
        }
    }

    /// How often a giving thread looks for steps; later ones are the queue's, because the thread has other work.
    private static let mostRounds = 16

    let queue: DispatchQueue
    private let state = Mutex(State())

    /// - Parameter queue: runs the steps that no giving thread has caused, such as those after a wait.
    init(_ queue: DispatchQueue) { self.queue = queue }

    /// Gives the task something to do, and runs its steps unless another thread does; only from a thread that may wait.
    func run(_ give: () -> Void) {
        let isMine = state.withLock { $0.run() }
        give()
        if isMine, !runSteps(rounds: Self.mostRounds) { runStepsOnQueue() }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let step = UnownedJob(job)
        let needsQueue = state.withLock { state in
            state.steps.append(step)
            return state.run()
        }
        if needsQueue { runStepsOnQueue() }
    }

    private func runStepsOnQueue() { queue.async { _ = self.runSteps(rounds: .max) } }

    /// - Returns: Whether all steps have run; if not, this thread still owns those that come.
    private func runSteps(rounds: Int) -> Bool {
        for _ in 0..<rounds {
            let steps = state.withLock { state in
                defer { state.steps = [] }
                if state.steps.isEmpty { state.isRunning = false }
                return state.steps
            }
            guard !steps.isEmpty else { return true }
            for step in steps { step.runSynchronously(on: asUnownedTaskExecutor()) }
        }
        return false
    }
}
