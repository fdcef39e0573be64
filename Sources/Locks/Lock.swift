public import CLocks
import Synchronization

// The C library has a different name on each system. `BridgePlatform` hides that, but depends on this module.
#if canImport(Glibc)
public import Glibc
#elseif canImport(Darwin)
public import Darwin
#else
#error("Locks knows the threads of glibc and of Darwin only")
#endif

/// The one lock between threads in `Sources`: a plain, non-recursive mutex with an address of its own.
///
/// It is a `pthread_mutex_t`, which the thread sanitizer sees, unlike `Synchronization.Mutex` on Linux. The mutex has
/// its cache lines for itself, so that two neighbouring locks do not slow each other.
///
/// `@unchecked Sendable` is sound: no stored property ever changes. After `init` only thread-safe `pthread_*` calls
/// touch the memory of the mutex, which is freed when no reference to the lock object is left.
@usableFromInline
package final class Lock: @unchecked Sendable {
    @usableFromInline
    package let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// The lock's place in the order of all locks: a lock that was made later has a larger number.
    ///
    /// A thread that takes several locks of one kind takes them in this order, so that no two threads wait for each
    /// other.
    package let order = made.wrappingAdd(1, ordering: .relaxed).newValue

    private static let made = Atomic<UInt64>(0)

    package init() {
        mutex = allocateAlone(pthread_mutex_t.self)
        mutex.initialize(to: pthread_mutex_t())
        let result = pthread_mutex_init(mutex, nil)
        precondition(result == 0, "A mutex with default attributes needs no resources: error \(result)")
    }

    deinit {
        let result = pthread_mutex_destroy(mutex)
        assert(result == 0, "A lock was released while it was held: error \(result)")
        UnsafeMutableRawPointer(mutex).deallocate()
    }

    /// Waits for the lock and takes it.
    ///
    /// If the calling thread already holds the lock, it waits for ever.
    @inlinable
    package func lock() {
        if cl_has_simulations(), lockInSimulation() { return }
        lockReally()
    }

    /// Takes the lock if no thread holds it, and says whether it did.
    @inlinable
    package func tryLock() -> Bool {
        let isTaken = tryLockReally()
        if isTaken, cl_has_simulations() { wasLockedInSimulation() }
        return isTaken
    }

    /// Gives the lock back.
    ///
    /// Only the thread that took the lock may give it back.
    @inlinable
    package func unlock() {
        unlockReally()
        if cl_has_simulations() { wasUnlockedInSimulation() }
    }

    /// Takes the lock through the simulation; returns false if the calling thread belongs to no simulation.
    @usableFromInline
    func lockInSimulation() -> Bool {
        guard let thread = Simulation.memberThread else { return false }
        thread.lock(self)
        return true
    }

    @usableFromInline
    func wasLockedInSimulation() { Simulation.memberThread?.hasLocked(self) }

    @usableFromInline
    func wasUnlockedInSimulation() { Simulation.memberThread?.hasUnlocked(self) }

    // MARK: - What simulations are made of

    /// Waits for the lock without asking the simulation that the thread may belong to.
    @inlinable
    package func lockReally() {
        let result = pthread_mutex_lock(mutex)
        assert(result == 0, "The lock could not be taken: error \(result)")
    }

    @inlinable
    package func tryLockReally() -> Bool {
        pthread_mutex_trylock(mutex) == 0
    }

    @inlinable
    package func unlockReally() {
        let result = pthread_mutex_unlock(mutex)
        assert(result == 0, "The lock could not be given back: error \(result)")
    }

    /// Runs `body` with the lock held.
    @inlinable
    package func withLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// Memory for one `T` that shares its cache lines with nothing else.
package func allocateAlone<T: ~Copyable>(_ type: T.Type) -> UnsafeMutablePointer<T> {
    allocateAlone(byteCount: MemoryLayout<T>.size).bindMemory(to: T.self, capacity: 1)
}

/// Memory of `byteCount` bytes that shares its cache lines with nothing else.
package func allocateAlone(byteCount: Int) -> UnsafeMutableRawPointer {
    // 128 bytes are two lines of x86-64, which are fetched in pairs, and one line of Apple's processors.
    let line = 128
    let size = (byteCount + line - 1) / line * line
    return UnsafeMutableRawPointer.allocate(byteCount: size, alignment: line)
}
