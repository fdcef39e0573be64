import Locks

/// Somebody who waits for the outcome of a delivery: it ends once, by its outcome, its time, or its task's cancellation.
final class DeliveryWait<Value: Sendable>: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var outcome: Result<Value, any Error>?
    private var waiter: CheckedContinuation<Value, any Error>?

    /// The first outcome counts.
    func finish(_ outcome: Result<Value, any Error>) {
        let waiter = lock.withLock {
            if self.outcome == nil { self.outcome = outcome }
            defer { self.waiter = nil }
            return self.waiter
        }
        waiter?.resume(with: outcome)
    }

    /// Runs `start`, then returns the outcome.
    func value(
        within limit: Duration,
        clock: any Clock<Duration>,
        timeout: @escaping @Sendable () -> DeliveryError,
        start: @escaping @Sendable () async throws -> Void
    ) async throws -> Value {
        try Task.checkCancellation()
        let watchdog = Task.detached { [self] in
            try await clock.sleep(for: limit)
            finish(.failure(timeout()))
        }
        // A task of its own, so that the end of the time is also the end of a wait for room.
        let starter = Task { [self] in
            do {
                try await start()
            } catch {
                finish(.failure(error))
            }
        }
        defer {
            watchdog.cancel()
            starter.cancel()
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let known = lock.withLock {
                    if outcome == nil { waiter = continuation }
                    return outcome
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }
}

/// Which handlers a delivery still waits for, for the sentence that says so.
final class UnfinishedHandlers: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var tracker: HandlingTracker?

    func set(_ tracker: HandlingTracker) {
        lock.withLock { self.tracker = tracker }
    }

    var text: String {
        guard let tracker = lock.withLock({ tracker }) else { return "" }
        let sites = tracker.unfinishedSites
        return sites.isEmpty ? "" : "; not done: the handler at \(sites.map(\.description).joined(separator: ", at "))"
    }
}
