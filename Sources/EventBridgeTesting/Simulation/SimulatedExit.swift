import Supervision

/// How a simulated process ends.
public enum SimulatedExit: Sendable, Hashable {
    /// By itself, with this status.
    case status(Int32)
    /// By a signal of this number, as a crash or the kernel ends it.
    case signal(Int32)

    var reason: ExitReason {
        switch self {
        case .status(let status): .exited(status: status)
        case .signal(let number): .signaled(number: number, coreDumped: false)
        }
    }
}
