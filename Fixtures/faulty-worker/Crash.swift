#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Deaths: by SIGABRT, or as a mistake in Swift ends.
enum Crash {
    static func now() -> Never {
        // Without the runtime's own handler, which takes seconds to print a backtrace that no test wants.
        signal(SIGABRT, SIG_DFL)
        abort()
    }

    /// A trap of Swift's own: there is no such character.
    static func trap(_ text: String) {
        let characters = Array(text)
        _ = characters[characters.count]
    }
}
