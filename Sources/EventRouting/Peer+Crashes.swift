import BridgeProtocol
package import BridgeTransport
import DomainEvents
import Locks

/// What the end of an incarnation says about the peer and about the events that it had.
extension Peer {
    /// Notes whether an ended incarnation had acknowledged any event; for a crash, `incarnationCrashed` calls this.
    package func incarnationEnded(_ ended: Link) {
        let isAble = ended.hasAcknowledged
        lock.withLock { if isAble { ledger.eventsWereAcknowledged() } }
    }

    /// Judges the crash of an incarnation.
    ///
    /// Call this before the next incarnation is started.
    ///
    /// - Returns: The verdict, and three values about the event that has a new strike; each may be nil. `name` is its
    ///   name. `event` is set if it was taken out of the outbox and is not sent again. `struck` is set if it stays in
    ///   the outbox and a journal has to hear of the strike.
    func incarnationCrashed(
        _ ended: Link,
        because reason: String,
        suspects known: [EventID]? = nil
    ) -> (verdict: CrashLedger.Verdict, name: String?, event: UndeliveredEvent?, struck: EventID?) {
        incarnationEnded(ended)
        // This moves the events to the link of the next incarnation, where they are judged.
        renew(after: ended)
        let suspects = known ?? ended.unfinished
        typealias Judgement = (CrashLedger.Verdict, String?, UndeliveredEvent?, Link?, EventID?)
        let (verdict, name, event, retired, struck): Judgement = lock.withLock {
            guard ledger.strikesEvents else { return (.worker, nil, nil, nil, nil) }
            let finding = current.predecessorCrashed(suspects: suspects, because: reason)
            let verdict = ledger.crashed(finding)
            guard case .struck(let sequence, _) = finding else { return (verdict, nil, nil, nil, nil) }
            let name = current.unsettledName(sequence)
            guard verdict == .deadLetter || verdict == .broken else {
                return (verdict, name, nil, nil, current.owedEvent(sequence))
            }
            // Sequences have no gaps, so the other events get new numbers in another link.
            let retired = current
            // Noted before the move: otherwise the first event in the other link could tell the peer that it may forget
            // the dead letter's event.
            retired.willOwe()
            let next = makeLink()
            let event = retired.retire(movingTo: next, without: sequence)
            if event != nil { counts.deadLettered += 1 }
            putInPlace(next)
            return (verdict, name, event, retired, nil)
        }
        retired?.wakeWaiters()
        return (verdict, name, event, struck)
    }

    /// Notes, before an event that the peer got becomes a dead letter, that the peer must not forget the event.
    ///
    /// The peer may have kept the event's effect before it failed. The note moves to the links that follow, together
    /// with the events of the present link.
    func letterIsKept() {
        lock.withLock { current.willOwe() }
    }

    /// Notes that an event which the peer has refused may become a dead letter: the peer must not forget the event
    /// until ``refusalIsDecided()``.
    func refusalIsHeld() { lock.withLock { current.refusalIsHeld() } }

    /// Notes that it is decided what becomes of a refused event.
    func refusalIsDecided() { lock.withLock { current.refusalIsDecided() } }

    /// Forgets how many events were dead-lettered in a row; called when a caller asks for the peer's restart.
    package func forgetDeadLetters() {
        lock.withLock { ledger.forget() }
    }

    /// Whether the peer's specification subscribes to this name: events of such a name are kept while the peer is given
    /// up.
    func isSpecified(_ name: String, isSelfReport: Bool) -> Bool {
        let specified = specified
        return specified.contains(EventName(name)) || (!isSelfReport && specified.contains(EventName.everything))
    }

    /// Stops events from leaving for the peer, or lets them leave again; ``pauseChanged()`` has to follow.
    func setPaused(_ isPaused: Bool) {
        lock.withLock {
            self.isPaused = isPaused
            current.setPaused(isPaused)
        }
    }

    func pauseChanged() {
        let (link, woken) = lock.withLock {
            defer { if isPaused { recoveriesWaiting = [] } }
            return (current, isPaused ? recoveriesWaiting : [])
        }
        for waiting in woken { waiting.body() }
        link.pauseChanged()
    }
}
