import Locks

/// Counts the real threads of a world.
final class ThreadCount: @unchecked Sendable {
    // Sendable: guarded by `lock`, which no simulation sees.
    private let lock = Lock()
    private var count = 0
    private var isAwaited = false
    private let none = Baton()

    func began() {
        lock.lockReally()
        count += 1
        lock.unlockReally()
    }

    func ended() {
        lock.lockReally()
        count -= 1
        let isLast = count == 0 && isAwaited
        lock.unlockReally()
        if isLast { none.handOver() }
    }

    func waitUntilNone() {
        lock.lockReally()
        isAwaited = true
        let isNone = count == 0
        lock.unlockReally()
        if !isNone { none.take() }
    }
}
