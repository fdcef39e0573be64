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
/// order and skip no state; a caller that reads the supervisor's status may miss states. So the watch uses both.
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
            // The update, not the supervisor, shows that the bridge takes no more events for the stopped worker. But
            // the update may be older than the command, so the supervisor has to know the worker at rest, too.
            return status.state.isAtRest && status.starts == startsBefore && now.state.isAtRest ? .done : .goesOn
        case .start, .restart:
            // An update that shows a start from before the command decides nothing. But if the worker has come to rest
            // without the requested start, no update about that start follows: the supervisor's status decides.
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
        case .gaveUp: status.state.predicate
        default: "was stopped before it was ready\(status.lastExit.map { ": it \($0.predicate)" } ?? "")"
        }
    }
}
