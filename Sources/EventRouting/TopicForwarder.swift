import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents

/// Carries the events of one name from the publisher to the outboxes of the peers that want them.
///
/// The publisher holds the forwarder as long as the name is forwarded, and a publishing thread holds the forwarder
/// until its event is published. The forwarder owns the router, and the router does not own the forwarder. So a delayed
/// publishing thread still finds the router, even if the bridge is gone. A router that stops takes its forwarders out
/// of the publisher, and is released when the last publishing thread is done.
final class TopicForwarder: EventForwarder {
    private let topic: Topic
    /// The topic's name; access through the topic would count a reference for each event.
    private let name: String
    /// The receivers of the events; if they change, the publisher gets another forwarder.
    private let fanout: Fanout
    private let router: EventRouter
    /// The router's trace reporter; access through the router would count a reference for each event.
    private let trace: TraceReporter

    init(_ topic: Topic, to fanout: Fanout, of router: EventRouter) {
        self.topic = topic
        name = topic.name
        self.fanout = fanout
        self.router = router
        trace = router.trace
    }

    func forward<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout HeldEvents?
    ) -> Forwarded {
        let refusal = router.refusal(of: topic, context)
        // During the shutdown the bridge's reports about itself still go to attached peers, for which the shutdown does
        // not wait. A report whose context has no cause goes to no worker, because a worker could no longer handle all
        // such reports.
        if let refusal, !router.isSelfReport(topic.name) { return refused(refusal, context, ifFull) }
        var start = trace.start(of: topic)
        defer { if start != 0 { trace.recorder.note(.publish, of: topic.name, context.context, from: start) } }
        let lent = PayloadScratch.lend()
        defer { lent.giveBack() }
        do {
            try lent.scratch._withUnsafeGuaranteedRef { scratch in
                try topic.coder(of: E.self)._withUnsafeGuaranteedRef {
                    try $0.encode(event, into: scratch.buffer, with: scratch.encoder)
                }
            }
        } catch {
            return refused(notEncodable(error, context), context, ifFull)
        }
        let payload = lent.bytes
        var triesAlone = true
        if receipts == nil, held == nil, refusal == nil, router.tap == nil {
            if let sole = fanout.sole {
                let sent = sole._withUnsafeGuaranteedRef { sole in
                    guard let link = fanout.soleLink else {
                        return sole.send(context, name: topic, payload: payload, ifFull: ifFull)
                    }
                    let outcome = link._withUnsafeGuaranteedRef {
                        $0.send(
                            context,
                            name: name,
                            number: topic.number,
                            payload: payload,
                            ifFull: ifFull
                        )
                    }
                    return sole.forwarded(outcome, name, ifFull)
                }
                if let sent {
                    if start != 0, sent.awaitsRoom { start = 0 }
                    return sent
                }
                triesAlone = false
            } else if !fanout.joined.isEmpty, sendJoined(payload, context, ifFull) {
                return .taken
            }
        }
        let targets = refusal == nil ? fanout.pooled?.targets(of: event, payload) ?? fanout.targets : []
        let sent = forward(
            payload,
            context.context,
            ifFull,
            receipts,
            to: targets,
            triesAlone: triesAlone,
            held: &held
        )
        // The span is that of the call that publishes the event, after the wait.
        if start != 0, sent.awaitsRoom { start = 0 }
        return sent
    }

    func forwardRecorded<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        makeRoom: (_ payloadBytes: Int) -> Void,
        record: (_ payload: UnsafeRawBufferPointer, _ owed: [OwedReceiver]) -> Void
    ) -> Forwarded? {
        // If the event cannot be encoded, the general way says so.
        guard let sole = fanout.sole, router.tap == nil, !trace.isOn, router.refusal(of: topic, context) == nil,
            let encoded = PayloadScratch.lend(with: event, encodedBy: topic.coder(of: E.self))
        else { return nil }
        defer { encoded.giveBack() }
        makeRoom(encoded.bytes.count)
        let isOwed = router.keepsCustody
        return sole._withUnsafeGuaranteedRef { sole in
            sole.sendRecorded(context, name: topic, payload: encoded.bytes, ifFull: ifFull, isOwed: isOwed) {
                record(encoded.bytes, isOwed ? fanout.soleOwed : [])
            }
        }
    }

    /// Puts an event into the outboxes of all targets at once, and writes it.
    ///
    /// - Returns: Whether the targets took the event; if not, none did, and the general way says why.
    private func sendJoined(
        _ payload: UnsafeRawBufferPointer,
        _ context: BorrowedContext,
        _ ifFull: FullOutboxAction
    ) -> Bool {
        let peers = fanout.joined
        guard payload.count <= JoinedLink.mostBytes / peers.count else { return false }
        return withUnsafeTemporaryAllocation(of: JoinedLink.self, capacity: peers.count) { links in
            var count = 0
            defer { for joined in links[..<count] { joined.release() } }
            for index in peers.indices {
                let joined = peers[index]._withUnsafeGuaranteedRef { $0.joinedLink(for: topic.name) }
                guard let joined else { return false }
                links.initializeElement(at: index, to: joined)
                count += 1
            }
            return JoinedLink.send(
                context,
                name: topic.name,
                number: topic.number,
                payload: payload,
                ifFull: ifFull,
                over: links
            )
        }
    }

    /// - Parameter triesAlone: whether the method for one peer may be tried; false if that method has just failed.
    private func forward(
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ ifFull: FullOutboxAction,
        _ receipts: ReceiptLedger?,
        to targets: [Peer],
        triesAlone: Bool,
        held: inout HeldEvents?
    ) -> Forwarded {
        let attached =
            topic.scope == .answer ? topic.scope.requesters(context, among: fanout.attached) : fanout.attached
        if let tap = router.tap {
            tap(PassingEvent(name: topic.name, context: context, payload: payload, sender: nil))
        }
        switch ifFull {
        case .wait, .turn, .fail:
            return topic.sendToAll(
                payload,
                context: context,
                receipts: receipts,
                to: targets,
                attached: attached,
                ifFull: ifFull,
                held: &held,
                by: router
            )
        case .drop:
            if triesAlone, receipts == nil, held == nil, let alone = Fanout.sole(among: targets, attached),
                let sent = context.withBorrowed({ alone.send($0, name: topic, payload: payload, ifFull: ifFull) })
            {
                return sent
            }
            let sent = topic.send(
                payload,
                context: context,
                wantsReceipt: false,
                to: targets,
                attached: attached,
                held: &held,
                by: router
            )
            return sent.losses.first.map { .failed($0.error) } ?? .taken
        }
    }

    private func notEncodable(_ error: any Error, _ context: BorrowedContext) -> DeliveryError {
        DeliveryError(
            .notEncodable,
            of: topic.name,
            id: context.id,
            "\(topic.name) cannot be encoded: \(CBORError.sentence(of: error))",
            field: (error as? CBORError)?.field
        )
    }

    private func refused(_ failure: DeliveryError, _ context: BorrowedContext, _ ifFull: FullOutboxAction) -> Forwarded
    {
        if case .drop = ifFull {
            router.losses.add(event: topic.name, id: context.id, link: "every link", reason: failure.description)
        }
        return .failed(failure)
    }

    // MARK: - Room

    var hasRoom: Bool { topic.hasRoom }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {
        do {
            for peers in waited(for: event) { try await Peer.waitForRoom(for: topic.name, atOneOf: peers) }
        } catch let failure as DeliveryError {
            // The workers stop because the bridge stops, so the end of the bridge is the reason.
            throw router.hasClosedIntake ? router.shutdownError(of: topic.name) : failure
        }
    }

    /// The peers that a publisher of an event waits for; see ``PooledTargets/waited(for:_:)``.
    private func waited<E: DomainEvent>(for event: E) -> [[Peer]] {
        let fanout = topic.fanout
        guard let pooled = fanout.pooled else { return fanout.targets.map { [$0] } }
        // An event that cannot be encoded is refused when it is published.
        guard let encoded = PayloadScratch.lend(with: event, encodedBy: topic.coder(of: E.self)) else { return [] }
        defer { encoded.giveBack() }
        return pooled.waited(for: event, encoded.bytes)
    }

    var isWantedElsewhere: Bool { fanout.isWanted }
}
