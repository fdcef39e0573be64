import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents

/// What one peer sends and says of events, on its way from the peer's link to the receivers.
///
/// Each link has one from its handshake on. Its peer's identity and rights decide what it takes.
package final class PeerEvents: LinkEventSink, @unchecked Sendable {
    // Sendable: `last` and `foreignSources` belong to the thread that reads the link; the rest is constant.
    let router: EventRouter
    let peer: Peer
    // The router's own. They are here as well because a reference that is taken from another object is counted for each
    // event.
    private let names: EventNames
    private let trace: TraceReporter
    /// The names of the events that the peer may publish; nil for any.
    private let publishable: Set<EventName>?
    /// Whether the peer may bring events of other machines.
    private let mayImport: Bool
    /// Only on the thread that reads the link.
    @exclusivity(unchecked) private var foreignSources = ForeignSources()
    private let keepsLast: Bool
    /// Whether the peer's events may have bookmarks.
    private let takesBookmarks: Bool
    /// The last event that has come; nil if none has, and if it is not kept.
    ///
    /// Only on the thread that reads the link.
    @exclusivity(unchecked) private(set) var last: EventID?

    /// - Parameters:
    ///   - publishable: the names of the events that the peer may publish; nil for any.
    ///   - mayImport: whether the peer may bring events of other machines, under their own identities.
    ///   - keepsLast: whether to keep the identity of the last event that has come.
    ///   - takesBookmarks: whether the peer's events may have bookmarks.
    package init(
        of peer: Peer,
        to router: EventRouter,
        publishable: Set<EventName>? = nil,
        mayImport: Bool = false,
        keepsLast: Bool = false,
        takesBookmarks: Bool = false
    ) {
        self.peer = peer
        self.router = router
        names = router.names
        trace = router.trace
        self.publishable = publishable
        self.mayImport = mayImport
        self.keepsLast = keepsLast
        self.takesBookmarks = takesBookmarks
    }

    // MARK: - What the link brings

    package func link(
        _ link: Link,
        received head: EventHead,
        payload: UnsafeRawBufferPointer,
        in run: inout EventRun
    ) throws -> EventDisposition {
        if peer.role == .host {
            if case .sender = head.id {} else { try checkImport(of: head) }
            guard mayPublish(head.name) else {
                let name = router.name(of: head.name) ?? ""
                return forbidden(head, over: link, "worker \"\(peer.peerName)\" may not publish \(name)")
            }
        }
        if head.bookmark != nil, !takesBookmarks {
            throw LinkViolation("event \(head.sequence) has a bookmark, but the host has not said that it keeps any")
        }
        // Topics are never taken out of the names, so none of them has to be counted here.
        let topic: Unmanaged<Topic>
        switch head.name {
        case .number(let number):
            guard let known = names[number] else {
                throw LinkViolation(
                    "event \(head.sequence) has name number \(number), which this side did not give out"
                )
            }
            topic = known
        case .text(let name):
            guard let found = try names.topic(of: name, broughtBy: peer) else {
                throw LinkViolation("more than \(EventRouter.maximumNames) event names are in use")
            }
            topic = .passUnretained(found)
        }
        return topic._withUnsafeGuaranteedRef { take($0, head, payload: payload, over: link, in: &run) }
    }

    package func link(_ link: Link, received gap: GapFrame) throws {
        if peer.role == .host {
            for range in gap.ranges {
                guard case .sender = range.first else {
                    throw LinkViolation("gap \(gap.sequence) speaks of events of another process")
                }
            }
            // A subscriber does not miss an event that the peer may not publish.
            guard mayPublish(gap.name) else { return }
        }
        try router.gapReceived(gap, from: peer, over: link)
    }

    package func link(_ link: Link, received receipt: Receipt) throws {
        var receipt = receipt
        if peer.isAttached {
            // The host asks attached peers for no receipts: nothing waits for one.
            return
        } else if peer.role == .host {
            guard receipt.process.hasBytes(of: peer.peerName), receipt.passedOnTo.isEmpty else {
                throw LinkViolation("a receipt speaks for \"\(receipt.process)\"")
            }
        } else if receipt.process == EventRouter.ownName {
            receipt.process = peer.peerName
        }
        router.receiptReceived(receipt, over: link)
    }

    package func link(_ link: Link, wasRefused head: EventHead, payload: UnsafeRawBufferPointer, refusal: Refusal) {
        router.eventRefused(head, payload: payload, by: peer, over: link, refusal: refusal)
    }

    package func link(_ link: Link, leftUnconfirmed events: [EventID]) {
        router.eventsWereUnconfirmed(events, by: peer)
    }

    // MARK: - Rights

    /// Checks that the peer may bring an event that is not its own.
    private func checkImport(of head: EventHead) throws(LinkViolation) {
        guard mayImport else {
            throw LinkViolation(
                "event \(head.sequence) bears the identity of another process, and the peer may not import events"
            )
        }
        // No process here has such a name, so no importer speaks for one.
        guard case .other(let origin, _, _) = head.id, EventSource.isForeign(origin) else {
            throw LinkViolation(
                """
                event \(head.sequence) bears the identity of a process of this bridge; an imported event names a \
                process of another machine, as in "berlin/host"
                """
            )
        }
    }

    /// Whether the peer may publish events of this name.
    private func mayPublish(_ name: WireName) -> Bool {
        guard let publishable else { return true }
        return router.name(of: name).map { publishable.contains(EventName($0)) } ?? false
    }

    private func forbidden(_ head: EventHead, over link: Link, _ text: String) -> EventDisposition {
        router.eventWasForbidden(head, over: link, because: text)
        return .refused(.forbidden, text: text)
    }

    // MARK: - From the peer to the receivers

    /// Routes an event: to the other peers that want it, unchanged, then to the subscribers here.
    private func take(
        _ topic: Topic,
        _ head: EventHead,
        payload: UnsafeRawBufferPointer,
        over link: Link,
        in run: inout EventRun
    ) -> EventDisposition {
        router.ensureTargets(of: topic)
        guard let source = link.peerSource else { return .handled }
        var context = link.context(of: head, from: source)
        if mayImport, context.id.isForeign { context = foreignSources.adopt(context) }
        if keepsLast { last = context.id }
        if topic.scope != .open, let text = topic.scope.refusal(of: topic.name, from: peer) {
            return forbidden(head, over: link, text)
        }
        return topic.fanout(in: &run)
            ._withUnsafeGuaranteedRef {
                dispatch(topic, head, payload: payload, context: context, to: $0, over: link, in: &run)
            }
    }

    private func dispatch(
        _ topic: Topic,
        _ head: EventHead,
        payload: UnsafeRawBufferPointer,
        context: EventContext,
        to fanout: Fanout,
        over link: Link,
        in run: inout EventRun
    ) -> EventDisposition {
        let arrival = trace.start(of: topic)
        link.tookInHand(name: topic.number)
        if arrival == 0, router.tap == nil, let receiver = fanout.receiver, !fanout.isWanted(otherThan: peer) {
            return handOver(payload, of: topic, to: receiver, head, context, over: link, in: &run)
        }
        router.tap?(PassingEvent(name: topic.name, context: context, payload: payload, sender: peer.peerName))
        var sent: Topic.Sent?
        var beginning: UInt64 = 0
        var crowded: [Peer] = []
        let outcome = fanout.deliverHere(payload, context: context, keeping: &run.subscribers, strand: link.strand) {
            held in
            if fanout.isWanted(otherThan: peer) {
                var passed = passOn(topic, head, payload, context, to: fanout, held: &held)
                if !passed.crowded.isEmpty, link.wasReadToEnd { swap(&crowded, &passed.crowded) }
                sent = passed
            }
            if arrival == 0 { return true }
            if sent != nil || router.deadLetters != nil {
                trace.recorder.note(.passing, of: topic.name, context, from: arrival, peer: peer.peerName)
            }
            beginning = MonotonicClock.now()
            return true
        } completion: { handlers in
            let completion = settlement(of: head, context, sent, over: link).completion(
                handlers: handlers,
                refused: router.refusedLater(topic, payload: payload, context: context)
            )
            if beginning == 0 { return completion }
            return trace.noting(completion, of: topic.name, context, from: beginning, peer: peer.peerName)
        }
        if beginning != 0, outcome.isOver {
            trace.recorder.note(.handling, of: topic.name, context, from: beginning, peer: peer.peerName)
        }
        // A window slows only a living peer, so the recovery of a dead peer's events waits here. Their settlement does
        // not wait.
        if !crowded.isEmpty { run.subscribers = KeptSubscribers() }
        for target in crowded { router.recoveryGate.wait(peer, for: target) }
        return settled(outcome, topic, head, payload, context, sent, over: link)
    }

    /// Hands an event to the subscribers here if no other peer wants it and no trace or tap sees it.
    private func handOver(
        _ payload: UnsafeRawBufferPointer,
        of topic: Topic,
        to receiver: any EventReceiver,
        _ head: EventHead,
        _ context: EventContext,
        over link: Link,
        in run: inout EventRun
    ) -> EventDisposition {
        let outcome = receiver.receive(payload, context: context, keeping: &run.subscribers, strand: link.strand) { _ in
            true
        } completion: { handlers in
            settlement(of: head, context, nil, over: link).completion(
                handlers: handlers,
                refused: router.refusedLater(topic, payload: payload, context: context)
            )
        }
        if case .handled(let count) = outcome, count > 0, !head.wantsReceipt { return .handled }
        return settled(outcome, topic, head, payload, context, nil, over: link)
    }

    /// Passes an event on to the other peers that want it.
    private func passOn(
        _ topic: Topic,
        _ head: EventHead,
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        to fanout: Fanout,
        held: inout [any HeldEvent]?
    ) -> Topic.Sent {
        topic.send(
            payload,
            context: context,
            except: peer,
            wantsReceipt: head.wantsReceipt,
            to: fanout.targets(of: payload, except: peer),
            attached: fanout.attached,
            held: &held,
            by: router
        )
    }

    private func settlement(
        of head: EventHead,
        _ context: EventContext,
        _ sent: Topic.Sent?,
        over link: Link
    ) -> Settlement {
        Settlement(
            link: link,
            from: peer,
            sequence: head.sequence.asWritten,
            receipt: head.wantsReceipt ? router.receipt(of: context.id, sent) : nil,
            crowded: sent?.crowded ?? [],
            backlogs: router.backlogs
        )
    }

    /// The disposition of an event that the link gets after all receivers have got the event.
    private func settled(
        _ outcome: LocalOutcome,
        _ topic: Topic,
        _ head: EventHead,
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ sent: Topic.Sent?,
        over link: Link
    ) -> EventDisposition {
        switch outcome {
        case .pending: return .pending
        case .handled, .unwanted:
            let isUnwanted = sent?.isUnwanted ?? true
            if !head.wantsReceipt, sent?.crowded.isEmpty ?? true {
                return outcome.handlers == 0 && isUnwanted ? .unwanted : .handled
            }
            settlement(of: head, context, sent, over: link).handled(
                handlers: outcome.handlers,
                isUnwanted: isUnwanted
            )
            return .pending
        case .refused(let reason, let text):
            router.refusalSettled(topic.name, by: nil, reason: text) {
                UndeliveredEvent(name: topic.name, context: context, attempts: context.attempt, payload: payload)
            }
            if !head.wantsReceipt { return .refused(reason, text: text) }
            settlement(of: head, context, sent, over: link).refused(reason, text: text)
            return .pending
        }
    }
}
