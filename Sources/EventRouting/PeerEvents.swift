import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents

/// Takes the events of one peer, and what the peer says of events, from the peer's link to the receivers.
///
/// A link gets such an object when this side sends the welcome or accepts it, and for the recovery of a left outbox.
/// The object takes only what the peer's identity and rights allow.
package final class PeerEvents: LinkEventSink, @unchecked Sendable {
    // Sendable: `last`, `kept` and `foreignSources` belong to the thread that reads the link; the rest is constant.
    let router: EventRouter
    let peer: Peer
    // These two belong to the router. They are here as well because a reference that is taken from another object is
    // counted for each event.
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
    /// The identity of the last event that has come; nil if none has come, or if `keepsLast` is false.
    ///
    /// Only on the thread that reads the link.
    @exclusivity(unchecked) private(set) var last: EventID?
    /// The receivers that the last run's events had, for the next run: if they are still the present ones, they are
    /// found without a lock.
    ///
    /// Nil while the thread that reads the link delivers a run, and if other peers or a pool were among the receivers:
    /// this reference would keep such a peer in memory until the next run, though it may be gone by then. Only on the
    /// thread that reads the link.
    @exclusivity(unchecked) private var kept: Fanout?

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

    package func link(_ link: Link, received run: inout EventRun) throws -> EventDisposition {
        guard let lender = run.lender else { return try route(&run, over: link) }
        return try PayloadScratch.decoding(from: lender) { try route(&run, over: link) }
    }

    private func route(_ run: inout EventRun, over link: Link) throws -> EventDisposition {
        if peer.role == .host {
            if !run.isOfPeer { try checkImport(run) }
            if let name = forbiddenName(run.name) {
                return forbidden(run, over: link, "worker \"\(peer.peerName)\" may not publish \(name)")
            }
        }
        if run.hasBookmark, !takesBookmarks {
            throw LinkViolation("event \(run.sequence) has a bookmark, but the host has not said that it keeps any")
        }
        // The names keep each topic for good, so a reference to a topic need not be counted.
        let topic: Unmanaged<Topic>
        switch run.name {
        case .number(let number):
            guard let known = names[number] else {
                throw LinkViolation(
                    "event \(run.sequence) has name number \(number), which this side did not give out"
                )
            }
            topic = known
        case .text(let name):
            guard let found = try names.topic(of: name, broughtBy: peer) else {
                throw LinkViolation("more than \(EventRouter.maximumNames) event names are in use")
            }
            topic = .passUnretained(found)
        }
        return topic._withUnsafeGuaranteedRef { topic in
            guard mayImport, !run.isOfPeer else { return take(&run, of: topic, over: link) }
            let arrived = run.context.context
            return withUnsafePointer(to: foreignSources.adopt(arrived, bookmark: arrived.bookmark)) { context in
                run.bears(context)
                return take(&run, of: topic, over: link)
            }
        }
    }

    package func link(_ link: Link, received gap: GapFrame) throws {
        if peer.role == .host {
            for range in gap.ranges {
                switch range.first {
                case .sender: break
                // An importer may have had no room for events of other machines.
                case .other(let origin, _, _) where mayImport && EventSource.isForeign(origin): break
                default: throw LinkViolation("gap \(gap.sequence) speaks of events of another process")
                }
            }
            // A subscriber does not miss an event that the peer may not publish.
            guard forbiddenName(gap.name) == nil else { return }
        }
        try router.gapReceived(gap, from: peer, over: link)
    }

    package func link(_ link: Link, received receipt: Receipt) throws {
        // The host asks attached peers for no receipts: nothing waits for one.
        if peer.isAttached { return }
        var receipt = receipt
        let id = link.eventID(of: receipt.id)
        if peer.role == .host {
            guard receipt.process.hasBytes(of: peer.peerName), receipt.passedOnTo.isEmpty else {
                throw LinkViolation("a receipt speaks for \"\(receipt.process)\"")
            }
            // Otherwise a worker could end the waits for events of others, and fill the links of their publishers.
            guard let id, link.receiptCame(of: id) else { return }
        } else if receipt.process == EventRouter.ownName {
            receipt.process = peer.peerName
        }
        if let id { router.receiptReceived(receipt, of: id, over: link) }
    }

    package func link(
        _ link: Link,
        wasRefused head: EventHead,
        payload: UnsafeRawBufferPointer,
        isOwed: Bool,
        refusal: Refusal
    ) -> Bool {
        router.eventRefused(head, payload: payload, by: peer, over: link, isOwed: isOwed, refusal: refusal)
    }

    package func link(_ link: Link, sawSettled numbers: [ClosedRange<UInt64>], of source: EventSource) {
        router.settled(numbers, of: source, at: peer)
    }

    package func link(_ link: Link, leftUnconfirmed events: [EventID]) {
        router.eventsWereUnconfirmed(events, by: peer)
    }

    package func link(_ link: Link, sawReplaysSettled events: [EventID]) { router.replaysSettled(events, by: peer) }

    // MARK: - Rights

    /// Checks that the peer may bring an event that is not its own.
    private func checkImport(_ run: borrowing EventRun) throws(LinkViolation) {
        guard mayImport else {
            throw LinkViolation(
                "event \(run.sequence) bears the identity of another process, and the peer may not import events"
            )
        }
        // No process of this bridge has a name of the foreign form, so no importer can speak for one.
        guard run.context.context.id.isForeign else {
            throw LinkViolation(
                """
                event \(run.sequence) bears the identity of a process of this bridge; an imported event names a \
                process of another machine, as in "berlin/host"
                """
            )
        }
    }

    /// The name as text if the peer may not publish events of it; nil also for a number that was not given out.
    private func forbiddenName(_ name: WireName) -> String? {
        guard let publishable, let text = router.name(of: name) else { return nil }
        return publishable.contains(EventName(text)) ? nil : text
    }

    private func forbidden(_ run: borrowing EventRun, over link: Link, _ text: String) -> EventDisposition {
        router.eventWasForbidden(run, over: link, because: text)
        return .refused(.forbidden, text: text)
    }

    // MARK: - From the peer to the receivers

    /// Routes the events of a run: to the other peers that want them, unchanged, then to the subscribers here.
    private func take(_ run: inout EventRun, of topic: Topic, over link: Link) -> EventDisposition {
        router.ensureTargets(of: topic)
        if keepsLast { last = run.context.context.id }
        if topic.scope != .open, let text = topic.scope.refusal(of: topic.name, from: peer) {
            return forbidden(run, over: link, text)
        }
        link.tookInHand(name: topic.number)
        var fanout: Fanout
        if let former = kept.take(), topic.isCurrent(former) { fanout = former } else { fanout = topic.fanout }
        // If a handler was slow, another thread may read by now, and `kept` belongs to that thread.
        defer { if run.isMine, fanout.pooled == nil, !fanout.isWanted(otherThan: peer) { kept = fanout } }
        while true {
            // The short way: nothing but a journal that records at once and the inline handlers here gets the events,
            // sees them or waits for them.
            if let receiver = fanout.receiver, router.tap == nil, !trace.isOn, !run.wantsReceipt,
                !fanout.isWanted(otherThan: peer)
            {
                let outcome = receiver.receive(&run) { context in
                    if keepsLast { last = context.context.id }
                    return topic.isCurrent(fanout) && !trace.isOn
                }
                if case .handled? = outcome { return .handled }
                if let outcome { return settled(outcome, topic, run, run.context.context, nil, over: link) }
            }
            if passOn(&run, of: topic, to: fanout) { return .handled }
            if !topic.isCurrent(fanout) { fanout = topic.fanout }
            let disposition = dispatch(topic, run, context: run.context.context, to: fanout, over: link)
            guard case .handled = disposition, run.handledTakesNext() else { return disposition }
            if keepsLast { last = run.context.context.id }
            if !topic.isCurrent(fanout) { fanout = topic.fanout }
        }
    }

    /// Passes events on to the only peer that gets them, if nothing else gets them, sees them or waits for them.
    ///
    /// - Returns: Whether the peer's outbox has all events of the run; if not, the caller dispatches the one in hand.
    private func passOn(_ run: inout EventRun, of topic: Topic, to fanout: Fanout) -> Bool {
        guard fanout.receiver == nil, let sole = fanout.sole, router.tap == nil, !trace.isOn, !run.wantsReceipt,
            !keepsLast
        else { return false }
        return sole._withUnsafeGuaranteedRef { $0 !== peer && $0.pass(&run, of: topic) }
    }

    private func dispatch(
        _ topic: Topic,
        _ run: borrowing EventRun,
        context: EventContext,
        to fanout: Fanout,
        over link: Link
    ) -> EventDisposition {
        let arrival = trace.start(of: topic)
        let payload = run.payload
        let (sequence, wantsReceipt) = (run.sequence, run.wantsReceipt)
        router.tap?(PassingEvent(name: topic.name, context: context, payload: payload, sender: peer.peerName))
        var sent: Topic.Sent?
        var beginning: UInt64 = 0
        var crowded: [Peer] = []
        let outcome = fanout.deliverHere(payload, context: context, strand: run.strand) { held in
            if fanout.isWanted(otherThan: peer) {
                var passed = topic.send(
                    payload,
                    context: context,
                    except: peer,
                    wantsReceipt: wantsReceipt,
                    to: fanout.targets(of: payload, except: peer),
                    attached: fanout.attached,
                    held: &held,
                    by: router
                )
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
            let completion = settlement(of: sequence, context, sent, wantsReceipt: wantsReceipt, over: link).completion(
                handlers: handlers,
                refused: router.refusedLater(topic, payload: payload, context: context)
            )
            if beginning == 0 { return completion }
            return trace.noting(completion, of: topic.name, context, from: beginning, peer: peer.peerName)
        }
        if beginning != 0, outcome.isOver {
            trace.recorder.note(.handling, of: topic.name, context, from: beginning, peer: peer.peerName)
        }
        // A window slows only a living peer. So once the link was read to its end, the recovery of the peer's events
        // waits here, and their settlement does not wait for room again.
        for target in crowded { router.recoveryGate.wait(peer, for: target) }
        return settled(outcome, topic, run, context, sent, over: link)
    }

    private func settlement(
        of sequence: UInt64,
        _ context: EventContext,
        _ sent: Topic.Sent?,
        wantsReceipt: Bool,
        over link: Link
    ) -> Settlement {
        Settlement(
            link: link,
            from: peer,
            sequence: sequence,
            receipt: wantsReceipt ? router.receipt(of: context.id, sent) : nil,
            crowded: sent?.crowded ?? [],
            backlogs: router.backlogs
        )
    }

    /// What the link is told of an event that was offered to all receivers.
    private func settled(
        _ outcome: LocalOutcome,
        _ topic: Topic,
        _ run: borrowing EventRun,
        _ context: EventContext,
        _ sent: Topic.Sent?,
        over link: Link
    ) -> EventDisposition {
        let (payload, wantsReceipt) = (run.payload, run.wantsReceipt)
        // A crowded receiver slows the sender, whatever becomes of the event here.
        let isSettled = !wantsReceipt && sent?.crowded.isEmpty ?? true
        switch outcome {
        case .pending: return .pending
        case .handled, .unwanted:
            let isUnwanted = sent?.isUnwanted ?? true
            if isSettled {
                return outcome.handlers == 0 && isUnwanted ? .unwanted : .handled
            }
            settlement(of: run.sequence, context, sent, wantsReceipt: wantsReceipt, over: link).handled(
                handlers: outcome.handlers,
                isUnwanted: isUnwanted
            )
            return .pending
        case .refused(let reason, let text, _):
            router.refusalSettled(topic.name, by: nil, reason: text) {
                UndeliveredEvent(
                    name: topic.name,
                    context: context,
                    attempts: context.attempt,
                    // What a handler got was recorded before, or no journal wants it.
                    lacksRecord: reason != .handlerFailed,
                    payload: payload
                )
            }
            if isSettled { return .refused(reason, text: text) }
            settlement(of: run.sequence, context, sent, wantsReceipt: wantsReceipt, over: link).refused(
                reason,
                text: text
            )
            return .pending
        }
    }
}
