/// What can happen to a supervisor, in the words of its state machine.
///
/// What is said about a child's process carries the incarnation that it is about, as it was given by `spawn`: news of a
/// dead incarnation may arrive late, and must not be taken for news of the next one.
package enum SupervisorInput: Hashable, Sendable {
    case startRequested
    case childSpawned(index: Int, incarnation: Int, pid: Int32)
    case childSpawnFailed(index: Int, incarnation: Int, reason: ExitReason)
    case childBecameReady(index: Int, incarnation: Int)
    /// Its process has ended, and what it has left is still being seen to; its `childExited` follows.
    case childProcessEnded(index: Int, incarnation: Int, reason: ExitReason)
    /// Nothing is left of it. `isOrderly`: it had said goodbye.
    case childExited(index: Int, incarnation: Int, reason: ExitReason, isOrderly: Bool, blame: ExitBlame)
    /// It did what it must not do; it is ended, and this is the reason that is remembered.
    case childViolated(index: Int, incarnation: Int, reason: ExitReason)
    case heartbeatMissed(index: Int, incarnation: Int, after: Duration, busyWith: String? = nil)
    /// An event was longer in its handlers than their deadline allows.
    case handlerTimedOut(index: Int, incarnation: Int, event: String, after: Duration)
    /// Its goodbye came, asked for or not.
    case childDrained(index: Int, incarnation: Int)
    /// It needs this much time from now to become ready or to drain, or none; and what it is at, or nothing new.
    case childAskedForTime(index: Int, incarnation: Int, more: Duration, because: String = "")
    /// One that is on demand has had nothing to do for its idle time, and gets nothing more.
    case childIdled(index: Int, incarnation: Int)
    /// Something has come for a child that was watched for it.
    case demandArose(index: Int)
    case timerFired(TimerToken)
    case restartRequested(index: Int)
    /// Another process is to take the place of a child's present one.
    case replaceRequested(index: Int, ReplacementRequest)
    /// The caller that asked for a replacement under this number wants it no longer.
    case replacementCalledOff(request: Int)
    case stopChildRequested(index: Int)
    /// It was found outside the supervisor that starting it again is of no use.
    case giveUpRequested(index: Int, reason: String)
    /// There are more of them, behind all others; they stay down until their start is asked for.
    case childrenAdded([ChildSpecification])
    /// One that was added is to start.
    case startChildRequested(index: Int)
    /// One is to stop and never to come back.
    case removeChildRequested(index: Int)
    case stopRequested
    /// The stop is to be quicker: the first time nothing drains and all are ended at once, the second time by SIGKILL.
    case stopHurried
}

extension SupervisorInput {
    /// The start that it brings news of; nil if it is about none.
    var subject: (index: Int, incarnation: Int)? {
        switch self {
        case .childSpawned(let index, let incarnation, _), .childSpawnFailed(let index, let incarnation, _),
            .childBecameReady(let index, let incarnation), .childProcessEnded(let index, let incarnation, _),
            .childExited(let index, let incarnation, _, _, _),
            .childViolated(let index, let incarnation, _), .heartbeatMissed(let index, let incarnation, _, _),
            .handlerTimedOut(let index, let incarnation, _, _), .childDrained(let index, let incarnation),
            .childAskedForTime(let index, let incarnation, _, _), .childIdled(let index, let incarnation):
            (index, incarnation)
        case .startRequested, .demandArose, .timerFired, .restartRequested, .replaceRequested, .replacementCalledOff,
            .stopChildRequested, .giveUpRequested, .stopRequested, .stopHurried, .childrenAdded, .startChildRequested,
            .removeChildRequested:
            nil
        }
    }
}

/// Whose fault an end is that was not asked for.
package enum ExitBlame: Hashable, Sendable {
    /// The child's own: it counts towards giving it up.
    case child
    /// Something else's, such as an event that kills each process that handles it: the child is started again, and
    /// nothing is counted.
    case elsewhere
    /// The child's own, and starting it again was found to be of no use, for this reason.
    case beyondHelp(String)
}
