#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// How the process ends by itself: statuses of sysexits.h.
enum GatewayExit: CInt {
    /// The arguments cannot be used: EX_USAGE.
    case usage = 64
    /// Another process may be writing or reading in this node's name; the next start finds out: EX_TEMPFAIL.
    case again = 75
    /// The configuration cannot work: another gateway serves this node, the broker refuses this one, or the worker's
    /// specification lacks a right. EX_CONFIG, after which a supervisor does not start the gateway again.
    case configuration = 78

    /// Writes one sentence to standard error and ends the process.
    static func leave(_ sentence: String, with status: GatewayExit) -> Never {
        let line = Array("\(sentence)\n".utf8)
        // If this fails, there is no other place to report it.
        _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(status.rawValue)
    }
}
