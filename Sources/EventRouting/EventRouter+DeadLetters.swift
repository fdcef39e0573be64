package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks

/// Events that a process could not handle.
extension EventRouter {
    /// A host's own name, as the receiver in dead letters and in receipts.
    package static let ownName = "host"

    /// Judges the crash of a worker's incarnation; blames an event if there is exactly one to blame.
    ///
    /// A crash over a report of the bridge counts against the worker. The crash itself causes reports. If it counted
    /// for nothing, a worker that crashes over such reports would be restarted, and cause further reports, for ever.
    ///
    /// Call this before the next incarnation is started.
    ///
    /// - Parameter suspects: the events that may be to blame; nil if unknown: then those of `Link.unfinished` may be.
    package func workerCrashed(
        _ peer: Peer,
        over link: Link,
        because reason: String,
        suspects: [EventID]? = nil
    ) -> CrashLedger.Verdict {
        let (verdict, name, event, struck) = peer.incarnationCrashed(link, because: reason, suspects: suspects)
        if let struck { publisher.recording.note(.strike(struck, at: peer.noted, reason: reason)) }
        let isOverReport = name.map(isSelfReport) ?? false
        if let event {
            let text = "worker \"\(peer.peerName)\" died of it: \(event.strikes.joined(separator: "; "))"
            if isOverReport {
                // The letter would cause another report.
                losses.add(event: event.name, id: event.context.id, link: peer.peerName, reason: text)
            } else {
                deadLetters?.add(event, cause: .crashes, reasons: event.strikes, from: peer)
            }
            tell(event.context.id, .deadLettered, at: peer, because: text)
        }
        return isOverReport && verdict != .broken ? .worker : verdict
    }

    /// Announces that a peer has refused an event, and keeps the event as a dead letter if this process keeps any.
    ///
    /// If an operator here waits for the event, only the operator is told. If a publisher here waits, this is decided
    /// when its wait ends: a refusal that the publisher has heard of is neither announced nor kept. An event that an
    /// attached peer refuses is never kept.
    ///
    /// - Parameter isOwed: whether a journal has to hear what becomes of the event.
    /// - Returns: Whether the journal hears of the event without the caller: from a dead letter, or when it is decided
    ///   what becomes of the event.
    func eventRefused(
        _ head: EventHead,
        payload: UnsafeRawBufferPointer,
        by peer: Peer,
        over link: Link,
        isOwed: Bool,
        refusal: Refusal
    ) -> Bool {
        let name = link.eventName(of: head)
        // If a refused `EventRefused` were announced, the announcements would never end.
        guard name != EventRefused.eventName else { return false }
        let context = link.sentContext(of: head)
        // A waiting operator is told the reason. If the operator has gone, the refusal is reported like any other.
        if head.isReplay, replays.refused(context.id, at: peer.peerName, because: refusal.text) { return false }
        func makeEvent() -> UndeliveredEvent {
            UndeliveredEvent(
                name: name,
                context: context,
                attempts: head.attempt.clamped(to: 1...Int(UInt32.max)),
                strikes: link.strikes(of: head.sequence.asWritten),
                isOwed: isOwed,
                payload: payload
            )
        }
        if head.wantsReceipt {
            let event = makeEvent()
            // The event may become a dead letter later, after the peer has acknowledged it.
            if deadLetters != nil { peer.refusalIsHeld() }
            // A publisher that waits for the event is told at once: if the peer is killed now, the receipt that should
            // follow the refusal never comes. Whether a publisher still waits is known only if it is in this process.
            let isHeld = tell(context.id, .refused, at: peer, because: refusal.text) { [self] isClaimed in
                let isKept = !isClaimed && refusalIsUnheard(name, context, refusal, by: peer) { event }
                if !isKept, isOwed { settled(context.id, at: peer) }
                peer.refusalIsDecided()
            }
            if isHeld { return true }
            defer { peer.refusalIsDecided() }
            return refusalIsUnheard(name, context, refusal, by: peer) { event }
        }
        return refusalIsUnheard(name, context, refusal, by: peer, event: makeEvent)
    }

    /// Announces a refusal of which no publisher or operator here has heard.
    ///
    /// - Returns: Whether the event has become a dead letter.
    private func refusalIsUnheard(
        _ name: String,
        _ context: EventContext,
        _ refusal: Refusal,
        by peer: Peer,
        event: () -> UndeliveredEvent
    ) -> Bool {
        reportRefusal(of: name, context, by: peer.peerName, reason: refusal.text, code: refusal.reason)
        if peer.isAttached { return false }
        return refusalSettled(name, by: peer, reason: refusal.text, event: event)
    }

    func reportRefusal(of name: String, _ context: EventContext, by process: String, reason: String, code: UInt64) {
        reports.publish(
            EventRefused(event: name, id: context.id.description, worker: process, reason: reason, code: code),
            causedBy: context,
            bytes: reason.utf8.count
        )
    }

    /// Reports an event that a peer may not publish, if the peer is gone: a living peer reports the refusal itself.
    ///
    /// The process may be gone before all that it has sent was read.
    func eventWasForbidden(_ run: borrowing EventRun, over link: Link, because text: String) {
        guard link.isPeerDeaf, let name = name(of: run.name) else { return }
        let code = Refusal.Reason.forbidden.rawValue
        reportRefusal(of: name, run.context.context, by: Self.ownName, reason: text, code: code)
    }

    /// The action for a handler that throws later, with its own copy of the event's bytes; nil if this process keeps no
    /// dead letters.
    func refusedLater(
        _ topic: Topic,
        payload: UnsafeRawBufferPointer,
        context: EventContext
    ) -> (@Sendable (ThrownError) -> Void)? {
        guard deadLetters != nil else { return nil }
        let event = UndeliveredEvent(name: topic.name, context: context, attempts: context.attempt, payload: payload)
        return { [weak self] failure in
            self?.refusalSettled(event.name, by: nil, reason: failure.description) {
                var event = event
                event.lacksRecord = failure.lacksRecord
                return event
            }
        }
    }

    /// Decides whether an event that was refused becomes a dead letter; no other code decides this.
    ///
    /// - Parameters:
    ///   - receiver: the peer that refused the event; nil for the handlers of this process.
    ///   - isKept: whether the event was a dead letter before; if so, it becomes one again, even beyond the bounds.
    ///   - event: makes the event; not called for a self-report, or if this process keeps no dead letters.
    /// - Returns: Whether the event has become a dead letter.
    @discardableResult
    func refusalSettled(
        _ name: String,
        by receiver: Peer?,
        reason: String,
        isKept: Bool = false,
        event: () -> UndeliveredEvent
    ) -> Bool {
        // A refused report causes no further report; otherwise a report that cannot be handled would cause reports for
        // ever.
        guard let deadLetters, !isSelfReport(name) else { return false }
        let event = event()
        let reasons = event.strikes + [reason]
        if let receiver {
            deadLetters.add(event, cause: .refused, reasons: reasons, from: receiver)
            return true
        }
        let hasRoom = deadLetters.addIfRoom(
            event,
            for: NotedReceiver(name: Self.ownName),
            cause: .refused,
            reasons: reasons,
            isKept: isKept
        )
        if !hasRoom {
            losses.add(
                event: name,
                id: event.context.id,
                link: Self.ownName,
                reason: "it was refused (\(reason)) and the dead letters are full"
            )
        }
        return hasRoom
    }

    /// Makes a copy of an event that was published for a worker that takes no events.
    ///
    /// - Returns: The event to keep, if the worker was given up and its specification subscribes to the event;
    ///   otherwise nil.
    func undeliverable(
        _ payload: UnsafeRawBufferPointer,
        name: String,
        context: EventContext,
        isOwed: Bool,
        for peer: Peer,
        because error: DeliveryError
    ) -> UndeliveredEvent? {
        guard deadLetters != nil, error.code == .workerUnavailable, peer.isGivenUp, !isSelfReport(name),
            peer.isSpecified(name, isSelfReport: false)
        else { return nil }
        return UndeliveredEvent(name: name, context: context, attempts: 0, isOwed: isOwed, payload: payload)
    }

    /// Keeps a lost event as a dead letter if the event has to be kept and there is room; returns whether it was kept.
    func keeps(_ loss: Topic.Loss) -> Bool {
        guard let deadLetters, let event = loss.event else { return false }
        let isKept = deadLetters.addIfRoom(
            event,
            for: loss.peer.noted,
            cause: .workerUnavailable,
            reasons: [loss.error.description]
        )
        if !isKept, event.isOwed { settled(event.context.id, at: loss.peer) }
        return isKept
    }

    // MARK: - Putting back

    /// Offers a dead letter's event to its receiver again, with its old identity and the next attempt number.
    ///
    /// - Returns: The outcome; nil if no letter has this number.
    /// - Throws: The reason why the event is not taken; then the letter is kept.
    package func redeliver(_ number: UInt64) throws(DeliveryError) -> Redelivery? {
        // The journal notes that the event is owed again before the event can be settled again.
        guard let deadLetters,
            let letter = deadLetters.take(number, isOwedAgain: { $0.receiver != Self.ownName })
        else { return nil }
        let outcome: Redelivery.Outcome
        do throws(DeliveryError) {
            outcome = try offer(letter)
        } catch {
            deadLetters.putBack(letter)
            throw error.identified(by: letter.event.context.id)
        }
        deadLetters.roomWasMade()
        return Redelivery(receiver: letter.receiver, outcome: outcome)
    }

    private func offer(_ letter: DeadLetterRecord) throws(DeliveryError) -> Redelivery.Outcome {
        let (event, attempt) = (letter.event, letter.event.attempts + 1)
        guard letter.receiver != Self.ownName else { return try handleHere(event, attempt: attempt) }
        guard let peer = peer(to: letter.receiver) else {
            throw DeliveryError(
                .workerUnavailable,
                of: event.name,
                id: event.context.id,
                at: letter.receiver,
                "\(event.name) cannot be put back: there is no worker \"\(letter.receiver)\" any more"
            )
        }
        try peer.redeliver(event, attempt: attempt).pump()
        return .accepted
    }

    private func deliverHere(
        _ name: String,
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        completion: () -> any HandlingCompletion
    ) -> LocalOutcome {
        let outcome = named(name)?.fanout.deliverHere(payload, context: context, strand: nil) { _ in
            true
        } completion: { _ in
            completion()
        }
        return outcome ?? .unwanted
    }

    /// Offers the event of a letter to the handlers of this process; journals get the event only if it lacks their
    /// record.
    private func handleHere(
        _ event: UndeliveredEvent,
        attempt: Int
    ) throws(DeliveryError) -> Redelivery.Outcome {
        if !event.lacksRecord, publisher.channel(named: event.name)?.hasHandlers != true { throw unwanted(event) }
        let context = EventContext(
            id: event.context.id,
            nanosecondsSinceEpoch: event.context.nanosecondsSinceEpoch,
            attempt: attempt,
            cause: event.context.cause,
            root: event.context.root,
            traceparent: event.context.traceparent
        )
        let outcome = event.payload.withUnsafeBytes { payload in
            let again = UndeliveredEvent(name: event.name, context: context, attempts: attempt, payload: payload)
            let offered = event.lacksRecord ? context : context.recorded
            return deliverHere(event.name, payload, context: offered) {
                RedeliveryCompletion(router: self, event: again)
            }
        }
        switch outcome {
        case .handled: return .handled
        case .pending: return .accepted
        case .unwanted: throw unwanted(event)
        case .refused(_, let reason, _):
            refusalSettled(event.name, by: nil, reason: reason, isKept: true) {
                event.payload.withUnsafeBytes {
                    UndeliveredEvent(
                        name: event.name,
                        context: context,
                        attempts: attempt,
                        lacksRecord: event.lacksRecord,
                        payload: $0
                    )
                }
            }
            return .refused(reason)
        }
    }

    private func unwanted(_ event: UndeliveredEvent) -> DeliveryError {
        DeliveryError(
            .noSubscriber,
            of: event.name,
            id: event.context.id,
            "\(event.name) cannot be put back: nothing here subscribes to it any more"
        )
    }
}

/// The completion of a dead letter's event that was offered to the handlers of this process again.
private final class RedeliveryCompletion: HandlingCompletion {
    private let router: EventRouter
    private let event: UndeliveredEvent

    init(router: EventRouter, event: UndeliveredEvent) {
        self.router = router
        self.event = event
    }

    func handlersReturned(failure: ThrownError?) {
        guard let failure else { return }
        router.refusalSettled(event.name, by: nil, reason: failure.description, isKept: true) {
            var event = event
            event.lacksRecord = failure.lacksRecord
            return event
        }
    }
}
