import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The clock for deadlines: it only goes forward, whatever is done to the machine's time.
///
/// It stands still while the machine sleeps, so that a suspended machine does not wake up to expired deadlines.
/// It is the clock that `Condition.wait(untilNanoseconds:)` and `Poller` count on.
package enum MonotonicClock {
    /// Nanoseconds since some moment that is fixed until the machine starts anew.
    package static func now() -> UInt64 {
        if let thread = Simulation.thread { return thread.monotonicTime }
        #if canImport(Darwin)
        return clock_gettime_nsec_np(CLOCK_UPTIME_RAW)
        #else
        return nanoseconds(of: CLOCK_MONOTONIC)
        #endif
    }
}

/// The clock that people read, for messages, records and their age: it may be set forward or back at any time.
package enum WallClock {
    /// Nanoseconds since the beginning of 1970, UTC.
    package static func now() -> UInt64 {
        Simulation.thread?.wallTime ?? nanoseconds(of: CLOCK_REALTIME)
    }
}

func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    // A clock before 1970 reads as less than a second; the sum wraps in the year 2554.
    return UInt64(max(0, time.tv_sec)) &* 1_000_000_000 &+ UInt64(max(0, time.tv_nsec))
}
