/// The signals that a supervisor sends to its children.
public enum ChildSignal: Hashable, Sendable, CaseIterable {
    /// SIGINT, for programs that end in good order only on Ctrl-C.
    case interrupt

    /// SIGTERM: a request to end.
    case terminate

    /// SIGABRT: ends the child and leaves a core, where the system writes cores.
    case abort

    /// SIGKILL: ends the child in any case, even a child that SIGSTOP has suspended.
    case kill
}

extension ChildSignal: CustomStringConvertible {
    /// The signal's name, such as `SIGTERM`.
    public var description: String {
        switch self {
        case .interrupt: "SIGINT"
        case .terminate: "SIGTERM"
        case .abort: "SIGABRT"
        case .kill: "SIGKILL"
        }
    }
}
