import BridgeProtocol
package import BridgeTransport
import DomainEvents
import Locks

/// What the end of an incarnation says about the peer and about the events that it had.
extension Route {
    /// An incarnation has ended, and not by a crash.
    package func incarnationEnded(_ ended: Link) {
        let isAble = ended.hasAcknowledged
        lock.withLock { if isAble { ledger.eventsWereAcknowledged() } }
    }

    /// An incarnation has crashed.
    ///
    /// Before the next one is started.
    ///
    /// - Returns: Who pays for it; and an event that is not sent again, taken out of the outbox.
    func incarnationCrashed(
        _ ended: Link,
        because reason: String,
        suspects known: [EventID]? = nil
    ) -> (verdict: CrashLedger.Verdict, event: UndeliveredEvent?) {
        incarnationEnded(ended)
        // Its events lie in the link of the next incarnation, where they are judged.
        renew(after: ended)
        let suspects = known ?? ended.unfinished
        let (verdict, event, retired): (CrashLedger.Verdict, UndeliveredEvent?, Link?) = lock.withLock {
            let finding = current.predecessorCrashed(suspects: suspects, because: reason)
            let verdict = ledger.crashed(finding)
            guard verdict == .deadLetter || verdict == .broken, case .struck(let sequence, _) = finding else {
                return (verdict, nil, nil)
            }
            // Sequences have no gaps: the others are numbered anew, in another link.
            let retired = current
            let next = makeLink()
            let event = retired.retire(movingTo: next, without: sequence)
            if event != nil { counts.deadLettered += 1 }
            putInPlace(next)
            return (verdict, event, retired)
        }
        retired?.wakeWaiters()
        return (verdict, event)
    }

    /// Forgets how many events were dead-lettered in a row: the peer's restart was asked for.
    package func forgetDeadLetters() {
        lock.withLock { ledger.forget() }
    }

    /// Whether what is published for the peer while it is given up has to be kept: what its specification subscribes
    /// to.
    func isSpecified(_ name: String, isSelfReport: Bool) -> Bool {
        let specified = specified
        return specified.contains(EventName(name)) || (!isSelfReport && specified.contains(EventName.everything))
    }

    /// Keeps events from leaving for the peer, or lets them leave again; ``pauseChanged()`` then acts on it.
    func setPaused(_ isPaused: Bool) {
        lock.withLock {
            self.isPaused = isPaused
            current.setPaused(isPaused)
        }
    }

    func pauseChanged() {
        let (link, woken) = lock.withLock {
            defer { if isPaused { takeOversWaiting = [] } }
            return (current, isPaused ? takeOversWaiting : [])
        }
        for waiting in woken { waiting.body() }
        link.pauseChanged()
    }
}
