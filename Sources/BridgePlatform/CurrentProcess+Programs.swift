import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What command-line programs need: output, limits, an ordinary end, and checks of the files that they start.
extension CurrentProcess {
    /// Whether there is a file at this path that this process may execute.
    package static func isExecutableFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// The error number for a file that does not exist.
    package static let noSuchFile = ENOENT

    /// Puts the null device where one of the three standard streams is closed.
    ///
    /// Otherwise a file that is opened later could get the stream's number, and code that means the stream would write
    /// to the file. What is written to the null device is swallowed; reading from it stays an error. Call this before
    /// anything is opened.
    package static func fillStandardStreams() {
        for number in STDIN_FILENO...STDERR_FILENO where !FileDescriptor.isOpen(number) {
            // This is the lowest free number, because all numbers below it are open by now.
            _ = retryingInterrupted { open("/dev/null", O_WRONLY) }
        }
    }

    /// Makes each printed line leave the process at once from now on, even where standard output is a pipe.
    ///
    /// For a pipe, the C library otherwise keeps output until 4096 bytes are full or the process ends in order.
    package static func printByLine() { cbp_output_by_line() }

    /// Writes a line to standard error in one piece; what cannot be written is left out.
    package static func report(_ sentence: String) {
        writeAll(sentence + "\n", to: STDERR_FILENO)
    }

    /// Writes text to a descriptor until all of it is written, or a write fails.
    ///
    /// - Returns: Whether all of it was written.
    @discardableResult
    package static func writeAll(_ text: String, to descriptor: CInt) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = retryingInterrupted { write(descriptor, rest.baseAddress, rest.count) }
                guard count > 0 else { return false }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return true
        }
    }

    /// Limits the size of files from now on: SIGXFSZ, unless ignored, kills the process when it makes a larger file.
    package static func limitFileSize(to bytes: UInt) {
        var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
        #if os(Linux)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        #else
        setrlimit(RLIMIT_FSIZE, &limit)
        #endif
    }

    /// Ends the process in the ordinary way: what the C library has buffered is written, exit handlers run.
    package static func exit(_ code: CInt) -> Never {
        systemExit(code)
    }
}

private func systemExit(_ code: CInt) -> Never { exit(code) }
