/// Gives a supervisor what it needs from outside: processes, links, time, and a place to report to.
///
/// The supervisor makes all calls one after the other, in the order in which they were decided, on a thread that gave
/// an input, and without a lock held. A call may give inputs itself; the supervisor acts on them after the call has
/// returned.
package protocol SupervisorEnvironment: AnyObject, Sendable {
    /// Monotonic time; its zero is arbitrary.
    var now: Duration { get }

    /// Starts a process for a child; `childSpawned` or `childSpawnFailed` answers it, from inside the call or later.
    func launch(index: Int, start: Int)

    /// Asks a child over its link to finish within this time and to say goodbye.
    func drain(index: Int, within grace: Duration)

    /// Calls `demandArose` when something waits for a child, at once if something waits already; once for each call.
    func watchDemand(index: Int)

    /// Sends a signal to a child's process; a process that has just ended is passed over in silence.
    func signal(index: Int, _ signal: ChildSignal)

    /// Whether a debugger holds the process of a child's start; if so, the process may stand still for any length of
    /// time.
    func isBeingDebugged(index: Int, start: Int) -> Bool

    /// Starts a process beside a child's present one, by the specification of this request.
    ///
    /// The answers are those to ``launch(index:start:)``.
    func launchSuccessor(index: Int, start: Int, request: Int)

    /// Sends a signal to the process beside a child's present one.
    func signalSuccessor(index: Int, _ signal: ChildSignal)

    /// Uses the specification of this request from now on.
    func adoptSpecification(index: Int, request: Int)

    /// Lets no event go to a child's present process any more.
    func keepEvents(index: Int)

    /// Lets the process beside the present one do the child's work, now that the present one has ended.
    func cutOver(index: Int, start: Int)

    /// Takes the outcome of a replacement; called once for each request.
    func replacementConcluded(request: Int, _ outcome: ReplacementOutcome)

    /// Runs a body once, after this time, unless the timer is cancelled before.
    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> any SupervisorTimer

    /// A child's status has changed; `reason` says why it died, if it died just now.
    func statusChanged(index: Int, _ status: ChildStatus, reason: ExitReason?)

    /// Every child is ready, or one of them has come to rest before it was ready; called once for each start.
    func startupFinished(_ result: Result<Void, StartupFailure>)

    /// All children are to be stopped because this significant child has ended; called once.
    ///
    /// The environment answers with `stopRequested` when the events on their way have arrived.
    func automaticShutdownBegan(index: Int)

    /// Nothing is left of a child whose removal was requested, and no more is reported of it; called once for each
    /// child.
    func childRemoved(index: Int)

    /// Every child is down after a stop; called once for each stop.
    func allStopped()
}

extension SupervisorEnvironment {
    package func isBeingDebugged(index: Int, start: Int) -> Bool { false }
}

/// A timer that can be called off.
///
/// A timer that was called off and still fires does no harm.
package protocol SupervisorTimer: Sendable {
    func cancel()
}
