import Locks

/// Counts, from 1.
final class Count: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var count = 0

    var value: Int { lock.withLock { count } }

    func increment() -> Int {
        lock.withLock {
            count += 1
            return count
        }
    }
}
