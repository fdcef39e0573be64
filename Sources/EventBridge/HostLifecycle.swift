import Locks

/// Where a bridge is in its life: started once, shut down once.
final class HostLifecycle: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    let lock = Lock()
    private var isStarted = false
    private var isRouting = false
    private var isEnding = false
    private var hasEnded = false
    private var recovers = false
    /// The callers that wait for the end of the recovery.
    private(set) var recoveryWaiters: [CheckedContinuation<Void, Never>] = []
    /// The callers that wait for an end that another caller has requested.
    private(set) var waiters: [CheckedContinuation<Void, Never>] = []

    /// What a request to end has found.
    enum Phase {
        /// The bridge was not started, or its start failed before anything ran.
        case notStarted
        case running
        /// The end was requested before.
        case ending
    }

    /// Whether events flow, and the end was not requested.
    var isRunning: Bool { lock.withLock { isRouting && !isEnding } }

    func begin() -> Bool {
        lock.withLock {
            defer { isStarted = true }
            return !isStarted && !isEnding
        }
    }

    func beganRunning() {
        lock.withLock { isRouting = true }
    }

    /// Takes ``begin()`` back, as nothing was started.
    func beginningFailed() {
        lock.withLock { isStarted = false }
    }

    /// Notes that events which earlier workers have left are being recovered.
    func recoveryBegan() { lock.withLock { recovers = true } }

    /// Whether a recovery is under way.
    var isRecovering: Bool { lock.withLock { recovers } }

    func recoveryEnded() {
        let waiters = lock.withLock {
            recovers = false
            defer { recoveryWaiters = [] }
            return recoveryWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when no recovery is under way.
    func waitUntilRecovered() async {
        await withCheckedContinuation { continuation in
            let isOver = lock.withLock {
                if recovers { recoveryWaiters.append(continuation) }
                return !recovers
            }
            if isOver { continuation.resume() }
        }
    }

    /// Requests the end; the first caller brings the end about, and then calls ``ended()``.
    func end() -> Phase {
        lock.withLock {
            defer { isEnding = true }
            if isEnding { return .ending }
            return isStarted ? .running : .notStarted
        }
    }

    /// Lets the callers of ``waitUntilEnded()`` go on, as nothing of the bridge runs any more.
    func ended() {
        let waiters = lock.withLock {
            hasEnded = true
            defer { self.waiters = [] }
            return self.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the bridge has ended.
    func waitUntilEnded() async {
        await withCheckedContinuation { continuation in
            let hasEnded = lock.withLock {
                if !self.hasEnded { waiters.append(continuation) }
                return self.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}
