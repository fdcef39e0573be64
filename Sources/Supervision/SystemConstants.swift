// The C library has another name on each system. Supervision knows processes by number only, so it does without the
// platform module.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The numbers of the operating system to which supervision gives names; they differ between systems.
enum SystemConstants {
    static let permanentSpawnErrors: Set<Int32> = [ENOENT, EACCES, ENOEXEC, ENOTDIR, ENAMETOOLONG, E2BIG]

    /// EX_CONFIG of sysexits.h, the same number on every system.
    static let wrongConfiguration: Int32 = 78

    /// A signal's name and number, such as `SIGKILL (9)`, or `signal 40` for one without a name.
    static func signalText(_ number: Int32) -> String {
        guard let name = signalNames[number] else { return "signal \(number)" }
        return "\(name) (\(number))"
    }

    static func signalName(_ number: Int32) -> String? { signalNames[number] }

    /// The limit that a process has exceeded if this signal killed it; nil for a signal of no limit.
    static func limit(behind signal: Int32) -> ResourceLimit? {
        switch signal {
        case SIGXCPU: .processorTime
        case SIGXFSZ: .fileSize
        default: nil
        }
    }

    static let signalNames: [Int32: String] = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP",
        SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGUSR1: "SIGUSR1",
        SIGSEGV: "SIGSEGV", SIGUSR2: "SIGUSR2", SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM",
        SIGCHLD: "SIGCHLD", SIGCONT: "SIGCONT", SIGSTOP: "SIGSTOP", SIGTSTP: "SIGTSTP", SIGTTIN: "SIGTTIN",
        SIGTTOU: "SIGTTOU", SIGURG: "SIGURG", SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ", SIGVTALRM: "SIGVTALRM",
        SIGPROF: "SIGPROF", SIGWINCH: "SIGWINCH", SIGIO: "SIGIO", SIGSYS: "SIGSYS",
    ]
}

extension ChildSignal {
    /// The operating system's number for the signal.
    package var number: Int32 {
        switch self {
        case .interrupt: SIGINT
        case .terminate: SIGTERM
        case .abort: SIGABRT
        case .kill: SIGKILL
        }
    }
}
