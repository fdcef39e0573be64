/// What can happen to a supervisor, in the words of its state machine.
///
/// What is said about a child's process carries the incarnation that it is about, as it was given by `spawn`: news of a
/// dead incarnation may arrive late, and must not be taken for news of the next one.
package enum SupervisorInput: Hashable, Sendable {
    case startRequested
    case childSpawned(index: Int, incarnation: Int, pid: Int32)
    case childSpawnFailed(index: Int, incarnation: Int, reason: ExitReason)
    case childBecameReady(index: Int, incarnation: Int)
    /// Its process has ended. `isOrderly`: it had said goodbye. `counts`: it counts towards giving the child up; not
    /// so for a crash that is laid at the door of an event.
    case childExited(index: Int, incarnation: Int, reason: ExitReason, isOrderly: Bool, counts: Bool)
    /// It did what it must not do; it is ended, and this is the reason that is remembered.
    case childViolated(index: Int, incarnation: Int, reason: ExitReason)
    case heartbeatMissed(index: Int, incarnation: Int, after: Duration)
    /// Its goodbye came, asked for or not.
    case childDrained(index: Int, incarnation: Int)
    /// It needs this much more time to become ready or to drain.
    case childAskedForTime(index: Int, incarnation: Int, more: Duration)
    case timerFired(TimerToken)
    case restartRequested(index: Int)
    case stopChildRequested(index: Int)
    /// Somebody else has found that starting it again is of no use.
    case giveUpRequested(index: Int, reason: String)
    case stopRequested
    /// The stop is to be quicker: the first time nothing drains and all are ended at once, the second time by SIGKILL.
    case stopHurried
}
