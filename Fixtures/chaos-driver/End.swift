import ChaosLedger

/// The ends that a worker may meet; only this type says which party meets which end, and which ends are deaths.
enum End: String, CaseIterable, Sendable {
    case kill = "SIGKILL"
    case terminate = "SIGTERM"
    /// Stopped and continued: nothing ends, and nothing may happen because of it.
    case pause = "SIGSTOP and SIGCONT"
    case restart
    case replace
    /// Stopped on request, and started again.
    case stop = "stop and restart"
    /// A worker on demand ends because it has nothing to do.
    case idle = "idle exit"
    case reloadEqual = "reload, equal"
    case reloadChanged = "reload, changed"
    /// One reload removes a worker and adds another with the same interest.
    case swap = "removal and addition"

    /// Whether the process dies without a goodbye, so that the events that it had begun may come again.
    var isDeath: Bool { self == .kill || self == .terminate }

    /// Whether it is a reload; only one reload is under way at a time, because calls of `apply` wait for each other.
    var isReload: Bool { self == .reloadEqual || self == .reloadChanged || self == .swap }

    /// Whether the process ends in good order; the driver may kill the process before it has ended.
    var isOrderly: Bool {
        switch self {
        case .restart, .replace, .stop, .reloadChanged, .swap: true
        case .kill, .terminate, .pause, .idle, .reloadEqual: false
        }
    }

    func isMet(by party: Party) -> Bool {
        switch self {
        case .idle: party == .demand
        case .swap: party == .guest
        // A pool is reloaded as a whole, and its members are picked one by one.
        case .reloadChanged: party != .pool
        // Events do not start a worker on demand that was stopped.
        case .stop: party != .demand
        case .kill, .terminate, .pause, .restart, .replace, .reloadEqual: true
        }
    }
}
