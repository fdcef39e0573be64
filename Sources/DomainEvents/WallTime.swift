import Locks

// For `clock_gettime`: `Dispatch` has no clock that tells the date, and this module does not import Foundation.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Wall-clock time, for people and peers to read; a link also uses it to decide whether events gather before a write.
enum WallTime {
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    static func now() -> UInt64 {
        if let thread = Simulation.thread { return thread.wallTime }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return UInt64(truncatingIfNeeded: now.tv_sec) &* 1_000_000_000 &+ UInt64(truncatingIfNeeded: now.tv_nsec)
    }
}
