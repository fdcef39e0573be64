#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Measurements that programs take of themselves.
extension CurrentProcess {
    /// How many nanoseconds of processor time all threads of this process have used.
    package static func processorNanoseconds() -> UInt64 {
        nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID)
    }

    /// Holds up the calling thread.
    package static func pause(milliseconds: UInt32) {
        usleep(milliseconds * 1_000)
    }

    package static func processorCount() -> Int {
        max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))
    }
}
