import Locks

extension Clock<Duration> {
    /// Sleeps by this clock; in a task of a simulation, the simulation's clock replaces `ContinuousClock`.
    package func sleepHere(for duration: Duration) async throws {
        guard self is ContinuousClock, let thread = Simulation.thread else { return try await sleep(for: duration) }
        try await thread.sleep(for: duration)
    }

    /// Whether ``sleepHere(for:)`` sleeps by the system's continuous clock.
    var isContinuousHere: Bool { self is ContinuousClock && Simulation.thread == nil }
}

extension SimulatedThread {
    /// Suspends the calling task until the simulation's clock has advanced by `duration`.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func sleep(for duration: Duration) async throws {
        let wait = SleepWait()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard wait.begin(continuation) else { return }
                callLater(after: min(duration.nanoseconds, .max / 2)) { wait.end(.success(())) }
            }
        } onCancel: {
            Simulation.undivided { wait.end(.failure(CancellationError())) }
        }
    }
}

/// A sleep that ends only once: when its time is over, or when its task is cancelled.
private final class SleepWait: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var continuation: CheckedContinuation<Void, any Error>?
    private var result: Result<Void, any Error>?

    /// - Returns: False if the sleep ended before it began.
    func begin(_ continuation: CheckedContinuation<Void, any Error>) -> Bool {
        let known = lock.withLock {
            if result == nil { self.continuation = continuation }
            return result
        }
        if let known { continuation.resume(with: known) }
        return known == nil
    }

    func end(_ result: Result<Void, any Error>) {
        let waiting = lock.withLock {
            if self.result == nil { self.result = result }
            return continuation.take()
        }
        waiting?.resume(with: result)
    }
}
