import BridgePlatform

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
    ///
    /// It says so before on standard output, which nothing flushes then.
    static func trap(_ text: String) {
        print("about to trap")
        let characters = Array(text)
        _ = characters[characters.count]
    }

    /// The first byte of a file of its own is one too many.
    static func exceedFileSize() {
        CurrentProcess.limitFileSize(to: 0)
        guard let file = tmpfile() else { return }
        fputc(0, file)
        fflush(file)
    }
}
