import Supervision

/// The commands that can be given about a worker.
enum WatchedCommand: Sendable, Hashable {
    case start
    case stop
    case restart
}

/// Decides when a command about a worker is done, from the updates that come after the command.
///
/// An update may contain a state from before the command; the supervisor's own status is newer then. Updates come in
/// order and skip no state; a caller that reads the supervisor's status may miss states.
struct WorkerCommandWatch: Sendable {
    enum Conclusion: Sendable, Hashable {
        case goesOn
        case done
        /// Why, as a phrase that follows the worker's name.
        case failed(String)
    }

    private let command: WatchedCommand
    private let startsBefore: Int

    /// - Parameter startsBefore: how often the worker had been started before the requested start, or at the moment of
    ///   its stop.
    init(_ command: WatchedCommand, startsBefore: Int) {
        self.command = command
        self.startsBefore = startsBefore
    }

    /// - Parameters:
    ///   - status: the status in the update.
    ///   - now: the status that the supervisor knows at this moment.
    func told(_ status: WorkerStatus, now: WorkerStatus) -> Conclusion {
        switch command {
        case .stop:
            if now.starts > startsBefore {
                return .failed("was started again meanwhile, by another request")
            }
            // When an update shows the worker at rest, all that follows from this rest is done. But the update may be
            // about an earlier rest.
            return status.state.isAtRest && status.starts == startsBefore && now.state.isAtRest ? .done : .goesOn
        case .start, .restart:
            // The update may be about a start before the command. But no other update follows if the worker came to
            // rest before it was started again: then the supervisor's status counts.
            let isNews = status.starts > startsBefore
            if isNews, status.state == .ready { return .done }
            guard isNews ? status.state.isAtRest : now.state.isAtRest && now.starts == startsBefore else {
                return .goesOn
            }
            return .failed(Self.text(isNews ? status : now))
        }
    }

    private static func text(_ status: WorkerStatus) -> String {
        switch status.state {
        case .gaveUp(let reason): "was given up: \(reason)"
        default: "was stopped before it was ready\(status.lastExit.map { ": it \($0)" } ?? "")"
        }
    }
}
