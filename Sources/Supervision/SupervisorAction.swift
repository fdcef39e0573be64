/// What a supervisor's state machine wants done.
package enum SupervisorAction: Hashable, Sendable {
    /// Start a process; answered by `childSpawned` or `childSpawnFailed`, at once or later.
    case spawn(index: Int, start: Int)
    /// Ask a child to finish what it has within this time, and to say goodbye.
    case sendDrain(index: Int, within: Duration)
    case signal(index: Int, ChildSignal)
    /// Start a process beside a child's present one, by the specification of this request; answered as `spawn` is.
    case spawnSuccessor(index: Int, start: Int, request: Int)
    case signalSuccessor(index: Int, ChildSignal)
    /// Use the specification of this request from now on: it is used for later starts, and says which events are kept
    /// for the child.
    case adoptSpecification(index: Int, request: Int)
    /// Let nothing more go to the present process: what comes is for the process that takes its place.
    case keepEvents(index: Int)
    /// Let events go to the present process again, unless `keepEvents` came before: it has idled (`childIdled`), but
    /// stays for now.
    case letEventsLeave(index: Int)
    /// The present process has ended: the process beside it does the child's work from now on.
    case cutOver(index: Int, start: Int)
    /// Report the outcome to the caller that asked for a replacement under this number.
    case concludeReplacement(request: Int, ReplacementOutcome)
    /// Call `demandArose` when something waits for a child, at once if something waits already.
    case watchDemand(index: Int)
    case startTimer(TimerToken, after: Duration)
    case cancelTimer(TimerToken)
    /// A child's status has changed; `reason` says why it died, if it died just now.
    case report(index: Int, ChildStatus, reason: ExitReason?)
    case finishStartup(StartupFailure?)
    /// All children are to be stopped because this significant child has ended; the environment answers with
    /// `stopRequested`, once events on their way have arrived or their time is over.
    case announceAutomaticShutdown(index: Int)
    /// Nothing is left of a child whose removal was requested.
    case announceRemoval(index: Int)
    case announceAllStopped
}

/// Names one timer; never used twice, so that a timer that fires late cannot be taken for another.
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
