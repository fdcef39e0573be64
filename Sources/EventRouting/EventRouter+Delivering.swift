import BridgeProtocol
import BridgeTransport
import CBOR
package import DomainEvents
import Locks

/// Events whose type this process does not know, published from their encoded form.
extension EventRouter {
    /// Publishes an event from its encoded form, without its type, and returns when all its handlers have returned,
    /// here and in every process that gets the event, except attached clients and workers that acknowledge nothing.
    ///
    /// - Parameters:
    ///   - context: made by the publisher for this event.
    ///   - limit: how long the call waits in all, including for room.
    /// - Throws: The errors of `EventPublisher.deliver`.
    /// - Returns: How many handlers the event had in each process.
    package func deliver(
        name: String,
        payload: [UInt8],
        context: EventContext,
        within limit: Duration
    ) async throws -> DeliveryReceipt {
        let topic = try topic(toPublish: name)
        return try await publisher.awaitReceipts(of: name, context: context, within: limit) { [self] ledger, wait in
            await waitForRoom(name: name, payload: payload)
            try wait.beginLeaving()
            if let refusal = context.withBorrowed({ refusal(of: topic, $0) }) { throw refusal }
            let start = trace.start(of: topic)
            defer { if start != 0 { trace.recorder.note(.publish, of: name, context, from: start) } }
            try payload.withUnsafeBytes { payload in
                tap?(PassingEvent(name: name, context: context, payload: payload, sender: nil))
                try handOut(payload, of: topic, context: context, ledger, hasLeft: wait.hasLeft)
            }
        }
    }

    private func handOut(
        _ payload: UnsafeRawBufferPointer,
        of topic: Topic,
        context: EventContext,
        _ ledger: ReceiptLedger,
        hasLeft: () -> Void
    ) throws(DeliveryError) {
        let fanout = topic.fanout
        var sent = Forwarded.taken
        let outcome = fanout.deliverHere(payload, context: context, strand: nil) { held in
            sent = topic.sendToAll(
                payload,
                context: context,
                receipts: ledger,
                to: fanout.targets(of: payload, except: nil),
                attached: fanout.attached,
                held: &held,
                by: self
            )
            hasLeft()
            return sent.isTaken
        } completion: { handlers in
            LedgerCompletion(ledger: ledger, handlers: handlers)
        }
        if case .failed(let failure) = sent { throw failure }
        switch outcome {
        case .pending: return
        case .handled(let handlers): ledger.handledHere(by: handlers)
        case .unwanted: ledger.handledHere(by: 0)
        case .refused(let reason, let text, nil):
            let (name, own) = (topic.name, publisher.source.origin)
            ledger.failedHere(refusedHere(.refused, name, context, reason, text)) { [self] isClaimed in
                if isClaimed { return }
                reportRefusal(of: name, context, by: own, reason: text, code: reason.rawValue)
            }
            ledger.handledHere(by: 0)
        case .refused(let reason, _, let thrown?):
            for failure in thrown.all {
                let error = refusedHere(.refused, topic.name, context, reason, failure.description)
                ledger.handlerThrew(failure, as: error)
            }
            ledger.handledHere(by: 0)
        }
    }

    // MARK: - Without receipts

    /// Publishes an event whose type this process does not know, from its encoded form.
    ///
    /// - Parameter context: made by the publisher for this event, if the caller needs its identity beforehand.
    /// - Returns: How many peers the event was for, plus 1 if subscribers here got it; or why the event was not taken.
    ///   The first error of an inline handler is returned only if all subscribers here are inline handlers. All other
    ///   errors of handlers are reported.
    package func publish(
        name: String,
        payload: UnsafeRawBufferPointer,
        context: EventContext? = nil
    ) -> Result<Int, DeliveryError> {
        let topic: Topic
        do throws(DeliveryError) {
            topic = try self.topic(toPublish: name)
        } catch {
            return .failure(error)
        }
        let context = context ?? publisher.makeContext(causedBy: nil)
        if let refusal = context.withBorrowed({ refusal(of: topic, $0) }) { return .failure(refusal) }
        tap?(PassingEvent(name: name, context: context, payload: payload, sender: nil))
        let start = trace.start(of: topic)
        defer { if start != 0 { trace.recorder.note(.publish, of: name, context, from: start) } }
        let fanout = topic.fanout
        let peers = fanout.targets(of: payload, except: nil)
        let targets = peers.count + fanout.attached.count
        var sent = Forwarded.taken
        let outcome = fanout.deliverHere(payload, context: context, strand: nil) { held in
            sent = topic.sendToAll(
                payload,
                context: context,
                receipts: nil,
                to: peers,
                attached: fanout.attached,
                held: &held,
                by: self
            )
            return sent.isTaken
        } completion: { _ in
            UnwatchedCompletion(of: name, context)
        }
        if case .failed(let failure) = sent { return .failure(failure) }
        switch outcome {
        case .handled, .pending: return .success(targets + 1)
        case .unwanted: return .success(targets)
        case .refused(let reason, let text, let thrown):
            for failure in thrown?.all.dropFirst() ?? [] { failure.report(of: name, context) }
            return .failure(refusedHere(.notEncodable, name, context, reason, text))
        }
    }

    /// The error of an event that the subscribers here could not take.
    private func refusedHere(
        _ code: DeliveryError.Code,
        _ name: String,
        _ context: EventContext,
        _ reason: Refusal.Reason,
        _ text: String
    ) -> DeliveryError {
        // Only the codec's text names the field; the text of a type's own validation does not.
        let field = reason == .undecodable ? CBORError.field(named: text) : nil
        return DeliveryError(code, of: name, id: context.id, "\(name) was refused here: \(text)", field: field)
    }

    /// The topic of a name that a caller gives instead of a type.
    func topic(toPublish name: String) throws(DeliveryError) -> Topic {
        if let mistake = EventName.mistake(in: name) {
            throw DeliveryError(.notEncodable, of: name, "\(name.prefix(256)) was not taken: \(mistake)")
        }
        guard let topic = named(name) else { throw Self.tooManyNames(for: name) }
        ensureTargets(of: topic)
        return topic
    }

    /// Returns when every peer that gets the event has room or will never have room, or on cancellation; if any member
    /// of a pool may get the event, room at one member is enough.
    ///
    /// - Parameter payload: chooses the members of pools; nil to wait for all members.
    package func waitForRoom(name: String, payload: [UInt8]? = nil) async {
        guard let fanout = names.known(name)?.fanout else { return }
        let chosen = payload.flatMap { payload in payload.withUnsafeBytes { fanout.pooled?.waited(for: $0) } }
        // A peer that takes no more events does not keep the caller waiting: publishing the event gives the reason.
        for peers in chosen ?? fanout.targets.map({ [$0] }) {
            try? await Peer.waitForRoom(for: name, atOneOf: peers)
        }
    }

    /// Whether every peer that wants the events of this name has room for another event.
    package func hasRoom(name: String) -> Bool {
        names.known(name)?.hasRoom ?? true
    }

    /// The names of all events that some peer wants; attached peers do not count.
    package var namesWantedByPeers: [String] {
        names.all.filter { !$0.targets.isEmpty }.map(\.name)
    }

    /// Whether some peer or subscriber wants the events of this name.
    package func isWanted(_ name: String) -> Bool {
        guard let topic = names.known(name) else { return false }
        let fanout = topic.fanout
        return !fanout.targets.isEmpty || !fanout.attached.isEmpty || publisher.isWanted(name)
    }

    /// Whether attached peers are the only ones that want the events of this name.
    package func isWantedByAttachedAlone(_ name: String) -> Bool {
        guard let fanout = names.known(name)?.fanout else { return false }
        return !fanout.attached.isEmpty && fanout.targets.isEmpty && !publisher.isWanted(name)
    }

    // MARK: - Events of a journal, for one worker

    /// Whether a worker wants the events of this name now: its specification lists them, or its process has asked.
    package func isWanted(_ name: String, by peer: Peer) -> Bool {
        guard control.scope(of: EventName(name)) == .open else { return false }
        return lock.withLock { peer.wants(name, isSelfReport: selfReports.contains(EventName(name))) }
    }

    /// Whether the process that published an event is this one, or a peer that still runs.
    package func isPresent(_ publisher: EventID) -> Bool {
        publisher.source == self.publisher.source || peer(to: publisher.origin)?.link(toPeerOf: publisher) != nil
    }

    /// Puts an event into a worker's outbox behind all that is there, once there is room, with the mark of a replay.
    ///
    /// No other peer, and no subscriber or journal of this process, gets the event. No overflow policy acts on it.
    ///
    /// - Parameters:
    ///   - context: the event's own identity, time, causes and trace, as ``EventContext/replayed`` marks them. All
    ///     events of a source have to share one `EventSource`, made by `EventSource(restored:)`.
    ///   - settled: called once with what became of the event, on any thread, if this method returns; not called if it
    ///     throws. Returns whether an operator hears of the outcome.
    /// - Throws: ``DeliveryError`` if the worker does not take the event.
    package func replay(
        _ context: EventContext,
        name: String,
        payload: [UInt8],
        to peer: Peer,
        _ settled: @escaping @Sendable (ReplayedEventOutcome) -> Bool
    ) async throws(DeliveryError) {
        let number = names.known(name)?.number ?? 0
        while true {
            let link = try await peer.linkWithRoom(for: name)
            // Noted before the event can be settled, and not while the call waits for room.
            guard let wait = replays.offer(context.id, at: peer.peerName, settled) else {
                throw peer.unavailable(name, "the bridge has ended")
            }
            let outcome = payload.withUnsafeBytes { link.replay(context, name: name, number: number, payload: $0) }
            let isTaken = if case .accepted = outcome { true } else { false }
            let isTold = replays.decided(wait, of: context.id, at: peer.peerName, isTaken: isTaken)
            if isTaken {
                link.pump()
                // If the peer was closed before now, its closing did not see this event, so the wait ends here.
                if let reason = peer.closedReason {
                    replays.settled(context.id, at: peer.peerName, .unavailable(unavailability(of: peer, reason)))
                }
                return
            }
            if isTold { return }
            try await peer.awaitRoomAgain(for: name, of: payload.count, on: link, after: outcome)
        }
    }
}

/// The completion of an event that no publisher waits for: what its handlers throw is reported.
private final class UnwatchedCompletion: HandlingCompletion {
    private let name: String
    private let context: EventContext

    init(of name: String, _ context: EventContext) {
        (self.name, self.context) = (name, context)
    }

    func handlersThrew(_ failure: ThrownError) {
        for failure in failure.all { failure.report(of: name, context) }
    }

    func handlersReturned(failure: ThrownError?) {}
}
