import Locks

/// Lets the lines of the input be published one after the other until the run ends; ``end()`` waits for a line whose
/// publishing has begun.
final class ReadingTurns: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var isPublishing = false
    private var isOver = false
    private var waiter: CheckedContinuation<Void, Never>?

    var haveEnded: Bool { lock.withLock { isOver } }

    /// Begins to publish a line, unless the reading has ended.
    ///
    /// - Returns: False if the reading has ended; if true, the caller calls ``finish()`` after publishing.
    func begin() -> Bool {
        lock.withLock {
            isPublishing = !isOver
            return isPublishing
        }
    }

    func finish() {
        let waiter = lock.withLock {
            isPublishing = false
            return self.waiter.take()
        }
        waiter?.resume()
    }

    /// Ends the reading, and returns when nothing is being published any more; called once.
    func end() async {
        await withCheckedContinuation { continuation in
            let isDone = lock.withLock {
                isOver = true
                if isPublishing { waiter = continuation }
                return !isPublishing
            }
            if isDone { continuation.resume() }
        }
    }
}
