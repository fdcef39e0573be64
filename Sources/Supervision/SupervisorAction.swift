/// What a supervisor's state machine wants done.
package enum SupervisorAction: Hashable, Sendable {
    /// Start a process; answered by `childSpawned` or `childSpawnFailed`, sooner or later.
    case spawn(index: Int, incarnation: Int)
    case sendDrain(index: Int)
    case signal(index: Int, ChildSignal)
    /// Tell by `demandArose` when something lies there for a child, at once if it does already.
    case watchDemand(index: Int)
    case startTimer(TimerToken, after: Duration)
    case cancelTimer(TimerToken)
    /// A child's status has changed; `reason` is that of its death, if it died just now.
    case report(index: Int, ChildStatus, reason: ExitReason?)
    case finishStartup(StartupFailure?)
    /// All children are to be stopped, as this one has ended, which is significant; to be answered by a request for that.
    case announceAutomaticShutdown(index: Int)
    case announceAllStopped
}

/// Names one timer; never used twice, so that one that fires late cannot be taken for another.
package struct TimerToken: Hashable, Sendable {
    var number: UInt64
}

/// Says which child has kept a supervisor from starting, and why.
package struct StartupFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var index: Int
    package var name: String
    package var reason: String

    package init(index: Int, name: String, reason: String) {
        self.index = index
        self.name = name
        self.reason = reason
    }

    package var description: String { "child \"\(name)\" did not become ready: \(reason)" }
}
