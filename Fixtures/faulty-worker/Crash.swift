#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A death by SIGABRT.
enum Crash {
    static func now() -> Never {
        // Without the runtime's own handler, which takes seconds to print a backtrace that no test wants.
        signal(SIGABRT, SIG_DFL)
        abort()
    }
}
