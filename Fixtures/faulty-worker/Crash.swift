import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Deaths: by SIGABRT, or by a trap of Swift.
enum Crash {
    static func now() -> Never {
        // Without the runtime's own handler, which takes seconds to print a backtrace that no test wants.
        signal(SIGABRT, SIG_DFL)
        abort()
    }

    /// A trap of Swift's own: there is no such character.
    ///
    /// It first prints a line to standard output, which nothing flushes afterwards.
    static func trap(_ text: String) {
        print("about to trap")
        let characters = Array(text)
        _ = characters[characters.count]
    }

    /// Writes the first byte of a new file, which is one too many.
    static func exceedFileSize() {
        CurrentProcess.limitFileSize(to: 0)
        guard let file = tmpfile() else { return }
        fputc(0, file)
        fflush(file)
    }
}
