#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The statuses with which the process ends by itself, as in sysexits.h.
enum GatewayExit: CInt {
    /// The arguments cannot be used: EX_USAGE.
    case usage = 64
    /// Another process acts in this node's name, or the host takes no events; the next start looks again: EX_TEMPFAIL.
    case again = 75
    /// The configuration cannot work: another gateway serves this node, the credentials or an address are wrong, or the
    /// worker's specification lacks a right. EX_CONFIG, after which a supervisor does not start the gateway again.
    case configuration = 78

    /// Writes one sentence to standard error and ends the process.
    static func leave(_ sentence: String, with status: GatewayExit) -> Never {
        let line = Array("\(sentence)\n".utf8)
        // If this fails, there is no other place to report it.
        _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(status.rawValue)
    }
}
