import Locks

/// Waits for the end of a work.
final class Finish: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var isFinished = false
    private var waiter: CheckedContinuation<Void, Never>?

    func finish() {
        let waiting = lock.withLock {
            isFinished = true
            return waiter.take()
        }
        waiting?.resume()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isDone = lock.withLock {
                if !isFinished { waiter = continuation }
                return isFinished
            }
            if isDone { continuation.resume() }
        }
    }
}
