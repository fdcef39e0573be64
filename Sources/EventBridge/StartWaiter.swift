import Supervision

/// How the start of all workers ends.
enum StartOutcome {
    case ready
    case failed(StartupFailure)
    /// A stop was requested first: nothing was started, and nothing will be.
    case stopped
    /// The task that waited was cancelled; what was started runs on.
    case cancelled
}

/// The caller that waits for the start of all workers.
enum StartWaiter {
    case none
    case waiting(CheckedContinuation<StartOutcome, Never>)
    /// The caller's task was cancelled, perhaps before the caller began to wait.
    case cancelled

    mutating func take(leaving next: StartWaiter) -> CheckedContinuation<StartOutcome, Never>? {
        defer { self = next }
        if case .waiting(let continuation) = self { return continuation }
        return nil
    }
}
