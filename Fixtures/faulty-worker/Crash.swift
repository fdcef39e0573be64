import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Deaths: by SIGABRT, or by a trap of Swift.
enum Crash {
    static func now() -> Never {
        // The runtime's own handler would take seconds to print a backtrace that no test wants.
        signal(SIGABRT, SIG_DFL)
        abort()
    }

    /// Traps, as Swift does for an index that is out of range.
    ///
    /// Before that, the function prints a line to standard output; nothing flushes the line afterwards.
    static func trap(_ text: String) {
        print("about to trap")
        let characters = Array(text)
        _ = characters[characters.count]
    }

    /// Writes a byte to a file although the process may write none: the system ends the process for that.
    static func exceedFileSize() {
        CurrentProcess.limitFileSize(to: 0)
        guard let file = tmpfile() else { return }
        fputc(0, file)
        fflush(file)
    }
}
