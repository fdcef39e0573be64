package import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Lets threads that hold a `Lock` wait until another thread says that something has changed.
///
/// Deadlines are points on the monotonic clock, in nanoseconds, as `MonotonicClock.now()` gives them: setting the
/// machine's wall clock neither shortens nor lengthens a wait. Waits may end for no reason, so they belong in a loop
/// that checks the condition itself. In a simulation threads wait on its clock, and the simulation wakes them.
///
/// `@unchecked Sendable` is sound for the reason given at `Lock`: a constant pointer to memory that only the
/// thread-safe `pthread_cond_*` calls touch.
package final class Condition: @unchecked Sendable {
    private let lock: Lock
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    /// Makes a condition whose waits release `lock` while they last.
    package init(lock: Lock) {
        self.lock = lock
        condition = allocateAlone(pthread_cond_t.self)
        condition.initialize(to: pthread_cond_t())
        initializeMonotonicCondition(condition)
    }

    deinit {
        let result = pthread_cond_destroy(condition)
        assert(result == 0, "A condition was released while a thread waited on it: error \(result)")
        UnsafeMutableRawPointer(condition).deallocate()
    }

    /// Waits for a signal.
    ///
    /// The lock must be held; it is released during the wait and held again afterwards.
    package func wait() {
        if let thread = Simulation.thread {
            _ = thread.wait(for: self, holding: lock, until: nil)
            return
        }
        let result = pthread_cond_wait(condition, lock.mutex)
        assert(result == 0, "A condition could not be waited for: error \(result)")
    }

    /// Waits for a signal, at most until `deadline` on the monotonic clock.
    ///
    /// - Returns: `false` when the deadline has passed. The lock is held again in either case.
    @discardableResult
    package func wait(untilNanoseconds deadline: UInt64) -> Bool {
        if let thread = Simulation.thread { return thread.wait(for: self, holding: lock, until: deadline) }
        let result = waitMonotonically(condition, lock.mutex, deadline)
        assert(result == 0 || result == ETIMEDOUT, "A condition could not be waited for: error \(result)")
        return result != ETIMEDOUT
    }

    /// Wakes one waiting thread, if any thread waits.
    package func signal() {
        if let thread = Simulation.thread { return thread.wake(self, all: false) }
        pthread_cond_signal(condition)
    }

    /// Wakes all waiting threads.
    package func broadcast() {
        if let thread = Simulation.thread { return thread.wake(self, all: true) }
        pthread_cond_broadcast(condition)
    }
}

private let nanosecondsPerSecond: UInt64 = 1_000_000_000

private func timespecOf(nanoseconds: UInt64) -> timespec {
    // Both quotient and remainder are far below the range of Int.
    timespec(tv_sec: Int(nanoseconds / nanosecondsPerSecond), tv_nsec: Int(nanoseconds % nanosecondsPerSecond))
}

#if canImport(Darwin)
private func initializeMonotonicCondition(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
    let result = pthread_cond_init(condition, nil)
    precondition(result == 0, "A condition with default attributes needs no resources: error \(result)")
}

/// Darwin's conditions know the wall clock only, but offer waits of a given length, which are monotonic.
private func waitMonotonically(
    _ condition: UnsafeMutablePointer<pthread_cond_t>,
    _ mutex: UnsafeMutablePointer<pthread_mutex_t>,
    _ deadline: UInt64
) -> CInt {
    let now = clock_gettime_nsec_np(CLOCK_UPTIME_RAW)
    var length = timespecOf(nanoseconds: deadline > now ? deadline - now : 0)
    return pthread_cond_timedwait_relative_np(condition, mutex, &length)
}
#else
private func initializeMonotonicCondition(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    defer { pthread_condattr_destroy(&attributes) }
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    let result = pthread_cond_init(condition, &attributes)
    precondition(result == 0, "A condition needs no resources: error \(result)")
}

private func waitMonotonically(
    _ condition: UnsafeMutablePointer<pthread_cond_t>,
    _ mutex: UnsafeMutablePointer<pthread_mutex_t>,
    _ deadline: UInt64
) -> CInt {
    var end = timespecOf(nanoseconds: deadline)
    return pthread_cond_timedwait(condition, mutex, &end)
}
#endif
