import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The newest number whose `send` has returned in any start of the worker, in a file that outlives each start.
///
/// The file has two numbers of 64 bits: that one, and one that was sent and lost; 0 for none.
final class SentNumbers: Sendable {
    private let file: CInt

    init(in directory: String) throws {
        let path = directory + "/sent"
        // The file stays open until the process ends.
        file = try SystemError.check("opening \(path)") { open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
    }

    var newest: UInt64 {
        get {
            var number: UInt64 = 0
            _ = withUnsafeMutableBytes(of: &number) { pread(file, $0.baseAddress, $0.count, 0) }
            return number
        }
        set { write(newValue, at: 0) }
    }

    func isLost(_ number: UInt64) { write(number, at: 8) }

    private func write(_ number: UInt64, at offset: off_t) {
        _ = withUnsafeBytes(of: number) { pwrite(file, $0.baseAddress, $0.count, offset) }
    }
}
