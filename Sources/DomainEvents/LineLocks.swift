import Locks

/// The locks of everything that takes events over from publishing threads.
///
/// An event is put into all lines that want it in one step, under all their locks, before a handler elsewhere can
/// begin: else what that handler publishes could reach another line ahead of the event that caused it. Locks are taken
/// in the order of their numbers, so threads never wait in a circle. A fixed number of them bounds what one thread
/// holds at once.
enum LineLocks {
    private static let locks = (0..<32).map { _ in Lock() }
    private static let numbering = Lock()
    // Guarded by `numbering`: the compiler cannot see that.
    nonisolated(unsafe) private static var next = 0

    /// The number of the lock for something new: all are used equally often.
    static func assign() -> Int {
        numbering.withLock {
            next += 1
            return next % locks.count
        }
    }

    static func lock(number: Int) -> Lock { locks[number] }

    static func lockAll(_ mask: UInt32) {
        var left = mask
        while left != 0 {
            locks[left.trailingZeroBitCount].lockSoon()
            left &= left - 1
        }
    }

    static func unlockAll(_ mask: UInt32) {
        var left = mask
        while left != 0 {
            locks[left.trailingZeroBitCount].unlock()
            left &= left - 1
        }
    }
}

extension Lock {
    /// Takes a lock that is never held for long: a few tries take less time than putting the thread to sleep and waking
    /// it.
    func lockSoon() {
        // In a simulation it depends on nothing but its seed how often a lock is tried.
        if Simulation.thread != nil { return lock() }
        for _ in 0..<64 where tryLock() { return }
        lock()
    }
}
