/// Gives a supervisor what it needs from outside: processes, links, time, and a place to report to.
///
/// The supervisor asks for `now` and `isBeingDebugged` on any thread. It makes all other calls one after the other, in
/// the order in which they were decided, on a thread that gave an input. No lock is held. A call may give inputs
/// itself; the supervisor makes the calls that follow from these inputs once the present call has returned.
package protocol SupervisorEnvironment: AnyObject, Sendable {
    /// Monotonic time; its zero is arbitrary.
    var now: Duration { get }

    /// Starts a process for a child; answered by `childSpawned` or `childSpawnFailed`, from inside the call or later.
    func launch(index: Int, start: Int)

    /// Asks a child over its link to finish within this time and to say goodbye.
    func drain(index: Int, within grace: Duration)

    /// Calls `demandArose` once, when something waits for a child; at once if something waits already.
    func watchDemand(index: Int)

    /// Sends a signal to a child's process; does nothing if the process has just ended.
    func signal(index: Int, _ signal: ChildSignal)

    /// Whether a debugger holds the process of a child's start, so that the process may stand still for any time.
    func isBeingDebugged(index: Int, start: Int) -> Bool

    /// Starts a process beside a child's present one, by the specification of this request.
    ///
    /// The answers are those of ``launch(index:start:)``.
    func launchSuccessor(index: Int, start: Int, request: Int)

    /// Sends a signal to the process beside a child's present one.
    func signalSuccessor(index: Int, _ signal: ChildSignal)

    /// Uses the specification of this request for the child from now on.
    func adoptSpecification(index: Int, request: Int)

    /// Lets no event go to a child's present process any more.
    func keepEvents(index: Int)

    /// Lets events go to a child's present process again: the process was idle, but stays for now.
    ///
    /// Does nothing after ``keepEvents(index:)`` for the same process.
    func letEventsLeave(index: Int)

    /// Lets the process beside the present one do the child's work, now that the present one has ended.
    func cutOver(index: Int, start: Int)

    /// Takes the outcome of a replacement; called once for each request.
    func replacementConcluded(request: Int, _ outcome: ReplacementOutcome)

    /// Runs a body once, after this time, unless the timer is cancelled before.
    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> any SupervisorTimer

    /// A child's status has changed; `reason` says why it died, if it died just now.
    func statusChanged(index: Int, _ status: ChildStatus, reason: ExitReason?)

    /// Every child that the supervisor's start waits for is ready, or one will not be; called once for each such start.
    func startupFinished(_ result: Result<Void, StartupFailure>)

    /// All children are to be stopped because this significant child has ended; called at most once for each start.
    ///
    /// The environment answers with `stopRequested`, once events on their way have arrived or their time is over.
    func automaticShutdownBegan(index: Int)

    /// Nothing is left of a removed child, and no more is reported of it; called once for each child.
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
