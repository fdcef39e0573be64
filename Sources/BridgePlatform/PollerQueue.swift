import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a poller's thread waits on: a list of descriptors, and a wake-up.
///
/// Any thread may add, change, remove and wake; one thread waits and then reads the events that came.
protocol PollerQueue: AnyObject, Sendable {
    func add(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError)
    func change(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError)
    func remove(_ descriptor: CInt)

    /// Ends the wait under way, or the next one.
    func wake()

    /// Ends a wait once the monotonic clock has reached `deadline`: the one that is under way then, or else the next.
    ///
    /// Each call replaces the deadline of the call before. The time limit of a wait counts as well.
    ///
    /// - Returns: False if the queue cannot do this: the thread then has to wake up for a new time limit.
    func wake(at deadline: UInt64) -> Bool

    /// Waits for events, a wake-up or the time limit in nanoseconds, whichever is first; returns how many events came.
    func wait(atMost limit: UInt64?) -> Int

    /// One event of the last wait; `nil` for a wake-up or a deadline.
    func event(at index: Int) -> (token: UInt64, readiness: Poller.Readiness)?
}

/// The queue of a poller in a simulation, which has no descriptors: its streams are memory, and its processes are
/// threads.
final class SimulatedEventQueue: PollerQueue, @unchecked Sendable {
    // Sendable: `isWoken` is guarded by `lock`.
    private let lock = Lock()
    private let woken: Condition
    private var isWoken = false

    init() {
        woken = Condition(lock: lock)
    }

    func add(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError) {
        throw SystemError(code: ENOTSUP, operation: "watching descriptor \(descriptor) in a simulation")
    }

    func change(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) {}

    func remove(_ descriptor: CInt) {}

    func wake() {
        lock.withLock {
            isWoken = true
            woken.signal()
        }
    }

    /// Returns false: a wait keeps the time limit with which it began.
    func wake(at deadline: UInt64) -> Bool { false }

    func wait(atMost limit: UInt64?) -> Int {
        let deadline = limit.map { limit in
            let (deadline, isBeyondTime) = MonotonicClock.now().addingReportingOverflow(limit)
            return isBeyondTime ? .max : deadline
        }
        lock.withLock {
            if let deadline {
                while !isWoken, woken.wait(untilNanoseconds: deadline) {}
            } else {
                while !isWoken { woken.wait() }
            }
            isWoken = false
        }
        return 0
    }

    func event(at index: Int) -> (token: UInt64, readiness: Poller.Readiness)? { nil }
}
