import Locks

/// The locks of all strands and buffers that take events from publishing threads.
///
/// A publishing thread puts an event into all strands that want it in one step, under all their locks, before any of
/// their handlers can begin. Otherwise an event that such a handler publishes could reach another strand ahead of its
/// cause. Threads take the locks in the order of their numbers, so they never wait in a circle. The fixed number of
/// locks bounds how many one thread holds at once.
enum StrandLocks {
    private static let locks = (0..<32).map { _ in Lock() }
    private static let numbering = Lock()
    // Guarded by `numbering`: the compiler cannot see that.
    nonisolated(unsafe) private static var next = 0

    /// The number of the lock for a new strand or buffer; all locks are assigned equally often.
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
    /// Takes a lock that is seldom held for long; a few tries take less time than the thread's sleep and wake-up.
    func lockSoon() {
        if !tryLockSoon() { lock() }
    }

    /// Takes the lock as ``lockSoon()`` does, but gives up after a few tries; in a simulation it waits instead.
    func tryLockSoon() -> Bool {
        // In a simulation only the seed may decide the outcome, but a thread outside the simulation may hold the lock.
        if Simulation.thread != nil {
            lock()
            return true
        }
        for _ in 0..<64 where tryLock() { return true }
        return false
    }
}
