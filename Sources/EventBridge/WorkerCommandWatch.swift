import Supervision

/// What can be commanded of a worker.
enum WorkerCommand: Sendable, Hashable {
    case start
    case stop
    case restart
}

/// Decides when a command about a worker is done, by what is told of the worker after the command was given.
///
/// What is told may be older than the command, and is then older than what the supervisor knows; what is told comes in
/// order and leaves nothing out, which what the supervisor knows does.
struct WorkerCommandWatch: Sendable {
    enum Conclusion: Sendable, Hashable {
        case goesOn
        case done
        /// Why, as a phrase that goes on from the worker's name.
        case failed(String)
    }

    private let command: WorkerCommand
    private let startsBefore: Int

    /// - Parameter startsBefore: how often the worker had been started before the start that is asked for, or in the
    ///   moment of its stop.
    init(_ command: WorkerCommand, startsBefore: Int) {
        self.command = command
        self.startsBefore = startsBefore
    }

    /// - Parameters:
    ///   - status: what is told.
    ///   - now: what the supervisor knows, at this moment.
    func told(_ status: WorkerStatus, now: WorkerStatus) -> Conclusion {
        switch command {
        case .stop:
            if now.starts > startsBefore {
                return .failed("was started again meanwhile, as somebody has asked for that")
            }
            // When it is told, what follows from it is done; but it may be told of an earlier rest.
            return status.state.isAtRest && status.starts == startsBefore && now.state.isAtRest ? .done : .goesOn
        case .start, .restart:
            // Of a start before the command; but one that comes to rest before it was started again is not told of by
            // another.
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
