import ChaosLedger

/// What a worker may meet, and the one place that says who meets what and which of it is a death.
enum End: String, CaseIterable, Sendable {
    case kill = "SIGKILL"
    case terminate = "SIGTERM"
    /// Stopped and continued: nothing has ended, and nothing may come of it.
    case pause = "SIGSTOP and SIGCONT"
    case restart
    case replace
    /// Stopped on request, and started again.
    case stop = "stop and restart"
    /// A worker on demand that has nothing to do.
    case idle = "idle exit"
    case reloadEqual = "reload, equal"
    case reloadChanged = "reload, changed"
    /// One is removed, and another that wants the same is added, by one reload.
    case swap = "removal and addition"

    /// Whether the process dies without a goodbye, so that what it had begun may come again.
    var isDeath: Bool { self == .kill || self == .terminate }

    /// Whether only one of these can be under way at a time: calls of `apply` wait for each other.
    var isReload: Bool { self == .reloadEqual || self == .reloadChanged || self == .swap }

    /// Whether it is an orderly end of a process, in the middle of which that may be killed.
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
        // One that is stopped is not started by events, which the others wait for.
        case .stop: party != .demand
        case .kill, .terminate, .pause, .restart, .replace, .reloadEqual: true
        }
    }
}
