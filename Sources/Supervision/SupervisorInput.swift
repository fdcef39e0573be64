/// What can happen to a supervisor, in the words of its state machine.
///
/// News of a child's process carries the number of its start, as `spawn` gave it, because news of a dead process may
/// arrive late and must not be taken for news of the next one.
package enum SupervisorInput: Hashable, Sendable {
    case startRequested
    case childSpawned(index: Int, start: Int, pid: Int32)
    case childSpawnFailed(index: Int, start: Int, reason: ExitReason)
    case childBecameReady(index: Int, start: Int)
    /// The child's process has ended, but the host still handles what the process has left; `childExited` follows.
    case childProcessEnded(index: Int, start: Int, reason: ExitReason)
    /// Nothing is left of the child's process; `isOrderly` says whether the child had said goodbye.
    case childExited(index: Int, start: Int, reason: ExitReason, isOrderly: Bool, blame: ExitBlame)
    /// The child did what it must not do: the supervisor ends the child and remembers this reason.
    case childViolated(index: Int, start: Int, reason: ExitReason)
    case heartbeatMissed(index: Int, start: Int, after: Duration, busyWith: String? = nil)
    /// An event has been in its handlers for longer than their deadline allows.
    case handlerTimedOut(index: Int, start: Int, event: String, after: Duration)
    /// The child's goodbye came, whether or not the child was asked to end.
    case childDrained(index: Int, start: Int)
    /// The child asks for this much time from now to become ready or to drain, and says what it is doing; the time may
    /// be zero, and an empty text leaves what the child said before.
    case childAskedForTime(index: Int, start: Int, more: Duration, because: String = "")
    /// The child is on demand and was idle for its idle time; what comes from now on waits for its next start.
    case childIdled(index: Int, start: Int)
    /// Something has come for a child that waits for it: the answer to `watchDemand`.
    case demandArose(index: Int)
    case timerFired(TimerToken)
    case restartRequested(index: Int)
    /// Another process is to take the place of a child's present one.
    case replaceRequested(index: Int, ReplacementRequest)
    /// The caller that requested a replacement under this number wants it no longer.
    case replacementCalledOff(request: Int)
    case stopChildRequested(index: Int)
    /// Children join at the end of the start order; they stay down until their or the supervisor's start is requested.
    case childrenAdded([ChildSpecification])
    /// A child that was added is to start.
    case startChildRequested(index: Int)
    /// A child is to be removed as soon as the environment requests that; until then it goes on.
    case removalPlanned(index: Int)
    /// A child is to stop and never to come back.
    case removeChildRequested(index: Int)
    case stopRequested
    /// The stop is to be quicker: the first time, the supervisor ends all children at once without draining, the second
    /// time by SIGKILL.
    case stopEscalated
}

extension SupervisorInput {
    /// The start that this input is about; nil if it is about none.
    var subject: (index: Int, start: Int)? {
        switch self {
        case .childSpawned(let index, let start, _), .childSpawnFailed(let index, let start, _),
            .childBecameReady(let index, let start), .childProcessEnded(let index, let start, _),
            .childExited(let index, let start, _, _, _),
            .childViolated(let index, let start, _), .heartbeatMissed(let index, let start, _, _),
            .handlerTimedOut(let index, let start, _, _), .childDrained(let index, let start),
            .childAskedForTime(let index, let start, _, _), .childIdled(let index, let start):
            (index, start)
        case .startRequested, .demandArose, .timerFired, .restartRequested, .replaceRequested, .replacementCalledOff,
            .stopChildRequested, .stopRequested, .stopEscalated, .childrenAdded, .startChildRequested,
            .removalPlanned, .removeChildRequested:
            nil
        }
    }
}

/// What is to blame for an end that was not requested.
package enum ExitBlame: Hashable, Sendable {
    /// The child is to blame: the end counts towards giving the child up.
    case child
    /// Something else is to blame, such as an event that kills each process that handles it: the end counts for the
    /// back-off, but not towards giving the child up.
    case elsewhere
    /// The child is to blame, and further starts were found to be of no use, for this reason.
    case beyondHelp(String)
}
