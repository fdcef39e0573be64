import BridgePlatform
import Locks

/// A flag that is set once and stays set; threads can wait for it.
final class Flag: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private let changed: Condition
    private var value = false

    init() {
        changed = Condition(lock: lock)
    }

    var isSet: Bool { lock.withLock { value } }

    func set() {
        lock.withLock {
            value = true
            changed.broadcast()
        }
    }

    func wait() {
        lock.withLock {
            while !value { changed.wait() }
        }
    }
}
