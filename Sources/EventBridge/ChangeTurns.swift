import Locks

/// Lets callers change a bridge's workers one after the other, in the order of their calls.
final class ChangeTurns: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Returns when it is the caller's turn; ``end()`` has to follow.
    func begin() async {
        await withCheckedContinuation { continuation in
            let isFree = lock.withLock {
                if isTaken { waiting.append(continuation) }
                defer { isTaken = true }
                return !isTaken
            }
            if isFree { continuation.resume() }
        }
    }

    func end() {
        let next: CheckedContinuation<Void, Never>? = lock.withLock {
            isTaken = !waiting.isEmpty
            return waiting.isEmpty ? nil : waiting.removeFirst()
        }
        next?.resume()
    }
}
