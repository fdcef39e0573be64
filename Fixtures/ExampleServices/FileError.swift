#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Why a file could not be read or written.
public struct FileError: Error, Hashable, CustomStringConvertible {
    /// The system's error number; 0 if the system was not asked.
    public let code: Int32

    /// A sentence that names the operation, the file and the reason.
    public let description: String

    init(_ description: String, code: Int32 = 0) {
        self.code = code
        self.description = description
    }

    /// The error of the system call that has just failed; the caller makes no other call before this one.
    static func current(_ operation: String, code: Int32 = errno) -> FileError {
        FileError("\(operation) failed: \(String(cString: strerror(code)))", code: code)
    }
}
