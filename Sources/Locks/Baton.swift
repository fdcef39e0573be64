// The C library has a different name on each system. `BridgePlatform` hides that, but depends on this module.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Lets a thread wait until another thread hands it the baton.
///
/// Simulations are built on batons, so no simulation controls the wait.
///
/// `@unchecked Sendable` is sound: `isHere` is touched under the mutex only.
package final class Baton: @unchecked Sendable {
    private let mutex = Lock()
    private let arrived: UnsafeMutablePointer<pthread_cond_t>
    private var isHere = false

    package init() {
        arrived = allocateAlone(pthread_cond_t.self)
        arrived.initialize(to: pthread_cond_t())
        let result = pthread_cond_init(arrived, nil)
        precondition(result == 0, "A condition with default attributes needs no resources: error \(result)")
    }

    deinit {
        pthread_cond_destroy(arrived)
        UnsafeMutableRawPointer(arrived).deallocate()
    }

    /// Returns once the baton has been handed over, and takes it.
    package func take() {
        mutex.lockReally()
        while !isHere { pthread_cond_wait(arrived, mutex.mutex) }
        isHere = false
        mutex.unlockReally()
    }

    /// Hands the baton to the thread that takes it, now or later.
    package func handOver() {
        mutex.lockReally()
        isHere = true
        pthread_cond_signal(arrived)
        mutex.unlockReally()
    }
}

/// Ends the calling thread at once, and releases nothing that its callers hold.
package func endThisThread() -> Never {
    pthread_exit(nil)
}
