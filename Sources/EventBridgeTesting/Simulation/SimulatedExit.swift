import Supervision

/// The way in which a simulated process ends.
public enum SimulatedExit: Sendable, Hashable {
    /// The process ends by itself, with this status.
    case status(Int32)
    /// A signal of this number ends the process, as a crash or the kernel does.
    case signal(Int32)

    var reason: ExitReason {
        switch self {
        case .status(let status): .exited(status: status)
        case .signal(let number): .signaled(number: number, coreDumped: false)
        }
    }
}
