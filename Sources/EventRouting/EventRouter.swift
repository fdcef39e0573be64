package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks
import Synchronization

/// Decides where an event goes: to which peers, and whether to the subscribers of this process.
///
/// Both sides use the same router. The host's router has a peer for each worker and passes events between them without
/// decoding them. A worker's router has one peer, the host. Interest goes the other way: the router asks each peer
/// for the events that this process or another peer wants.
package final class EventRouter: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, or guards itself.

    package let publisher: EventPublisher
    package let poller: Poller
    /// The strand of all reports of this process's bridge.
    package let reports: ReportStrand
    let losses: LossReporter
    let trace: TraceReporter
    let receipts = PendingReceipts()
    let recoveryGate = RecoveryGate()
    private let backlogs = BacklogWaits()
    private let isIntakeClosed = Atomic<Bool>(false)
    /// Sees every event that passes.
    package let tap: (@Sendable (PassingEvent) -> Void)?
    /// Whether the tap also sees events of this process that no peer wants.
    let tapsUnwanted: Bool
    /// Keeps the events that a process could not handle; nil in a worker, whose host keeps them.
    let deadLetters: DeadLetterStore?
    /// Whether the router asks every peer for every event, because this process watches them.
    let wantsEverything: Bool
    /// The names of events that are only for this process and the peers that have attached to it.
    let control: ControlNames
    /// The names that the router asks for without a subscriber here, because this process watches them.
    let watchedNames: Set<EventName>
    /// Gets every gap that a peer reports, at its place among the events that ``tap`` sees.
    let gapTap: (@Sendable (Gap) -> Void)?

    /// Serialises changes of interest; taken before any peer's or link's lock.
    let lock = Lock()
    /// Whether ``stop(refusing:)`` was called, after which a peer that leaves changes nothing; guarded by `lock`.
    var isStopped = false
    var peers: [Peer] = []
    /// The names of self-reports that this process knows.
    ///
    /// A peer that asks for everything gets none of them. `EventsTraced` counts as a self-report even before this
    /// process has used it.
    var selfReports: Set<EventName> = [EventName(EventsTraced.eventName)]

    /// The topics of all event names.
    let names: EventNames

    /// - Parameters:
    ///   - reports: the strand of the bridge's reports; nil to make one for this router.
    ///   - processName: the name of the process in its trace; nil for the publisher's origin.
    package init(
        publisher: EventPublisher,
        poller: Poller,
        reports: ReportStrand? = nil,
        wantsEverything: Bool = false,
        watchedNames: Set<EventName> = [],
        deadLetters: DeadLetterStore? = nil,
        control: ControlNames = ControlNames(),
        processName: String? = nil,
        tap: (@Sendable (PassingEvent) -> Void)? = nil,
        tapsUnwanted: Bool = true,
        gapTap: (@Sendable (Gap) -> Void)? = nil
    ) {
        self.control = control
        names = EventNames(control: control)
        self.deadLetters = deadLetters
        self.publisher = publisher
        self.poller = poller
        self.wantsEverything = wantsEverything
        self.watchedNames = watchedNames
        self.tap = tap
        self.tapsUnwanted = tapsUnwanted
        self.gapTap = gapTap
        let reports = reports ?? ReportStrand(publisher: publisher, poller: poller)
        self.reports = reports
        losses = LossReporter(publisher: publisher, reports: reports, poller: poller)
        let process = processName ?? publisher.source.origin
        trace = TraceReporter(process: process, publisher: publisher, reports: reports, poller: poller)
    }

    /// Begins to forward the publisher's events.
    package func start() {
        publisher.addInterestObserver(self)
        // If the router was stopped during this call, nothing else would take it out of the publisher.
        if lock.withLock({ isStopped }) { publisher.removeInterestObserver(self) }
    }

    /// Stops taking events without a cause: from now on only events that handlers publish pass.
    package func closeIntake() {
        isIntakeClosed.store(true, ordering: .relaxed)
        // A worker that is down may never be started again, and so never make room.
        recoveryGate.open()
    }

    /// Whether ``closeIntake()`` was called; if so, the router takes only events with a cause.
    package var hasClosedIntake: Bool { isIntakeClosed.load(ordering: .relaxed) }

    /// A phrase for what keeps the link of a gone peer from ending, such as `a handler of BoxProvisioned`; nil if
    /// nothing in particular does.
    package func whatKeeps(_ link: Link, of peer: Peer) -> String? {
        if let target = recoveryGate.awaited(by: peer) { return "room at worker \"\(target.peerName)\"" }
        return named(link.nameInHand).map { "a handler of \($0.name)" }
    }

    /// The error for an event of this process that the router does not take; nil if the router takes the event.
    func refusal(of name: String, _ context: EventContext) -> DeliveryError? {
        context.cause == nil ? refusalOfWaiting(name)?.identified(by: context.id) : nil
    }

    /// The error for a caller that waited for room, if the bridge is shutting down; nil otherwise.
    ///
    /// A handler never waits, so the event has no cause.
    func refusalOfWaiting(_ name: String) -> DeliveryError? {
        guard hasClosedIntake else { return nil }
        return DeliveryError(.shuttingDown, of: name, "\(name) was not taken: the bridge is shutting down")
    }

    /// Calls `body` when all reports and losses so far have been delivered, or after ``ReportStrand/waitLimit``; at
    /// once if none is left.
    package func whenReported(_ body: @escaping @Sendable () -> Void) {
        losses.announce()
        reports.whenPassed(body)
    }

    /// Ends the waits of callers for receipts: the only peer is gone.
    ///
    /// Events still go to the peer's link. The link takes them as long as it reaches the peer, and refuses them
    /// otherwise.
    package func hostHasGone() {
        receipts.failAll(.workerUnavailable, because: "the bridge has ended")
        recoveryGate.open()
        losses.announce()
        trace.turn(on: nil)
    }

    /// Stops forwarding the publisher's events, and lets all recoveries pass the gate.
    ///
    /// - Parameter refusal: the error text for callers that publish events which the peers wanted; nil if the publisher
    ///   is of use without the peers.
    package func stop(refusing refusal: String? = nil) {
        hostHasGone()
        reports.end()
        lock.withLock { isStopped = true }
        publisher.removeInterestObserver(self)
        for named in names.all {
            let isRefused = !named.targets.isEmpty
            publisher.setForwarding(
                of: named.name,
                by: self,
                to: isRefused ? refusal.map { RefusingForwarder(named.name, because: $0) } : nil
            )
        }
    }

    // MARK: - Names

    package static let maximumNames = 65_536

    /// Works out which peers get the events of a new name: the peers that want everything want this name too.
    ///
    /// Called for each event, because the thread that made the name's topic may not have called this yet.
    func ensureTargets(of topic: Topic) {
        if !topic.hasTargets { updateTargets(of: [topic]) }
    }

    /// The topic of a name; nil if peers have made up more names than any program has.
    func named(_ name: String) -> Topic? { names.topic(of: name) }

    func named(_ number: UInt64) -> Topic? { names[number]?.takeUnretainedValue() }

    var allNames: [String] { names.all.map(\.name) }

    /// The name of an event that a peer sent; nil if this router never gave out its number.
    package func name(of name: WireName) -> String? {
        switch name {
        case .text(let text): text
        case .number(let number): named(number)?.name
        }
    }

    // MARK: - Events in

    /// Routes an event that a peer sent: to the other peers that want it, unchanged, then to the subscribers here.
    package func eventReceived(
        _ head: EventHead,
        payload: UnsafeRawBufferPointer,
        from peer: Peer,
        over link: Link,
        in run: inout EventRun
    ) throws -> EventDisposition {
        switch head.name {
        case .number(let number):
            guard let topic = names[number] else {
                throw LinkViolation(
                    "event \(head.sequence) has name number \(number), which this side did not give out"
                )
            }
            return topic._withUnsafeGuaranteedRef {
                eventReceived($0, head, payload: payload, from: peer, over: link, in: &run)
            }
        case .text(let name):
            guard let topic = try names.topic(of: name, broughtBy: peer) else {
                throw LinkViolation("more than \(Self.maximumNames) event names are in use")
            }
            return eventReceived(topic, head, payload: payload, from: peer, over: link, in: &run)
        }
    }

    private func eventReceived(
        _ topic: Topic,
        _ head: EventHead,
        payload: UnsafeRawBufferPointer,
        from peer: Peer,
        over link: Link,
        in run: inout EventRun
    ) -> EventDisposition {
        ensureTargets(of: topic)
        if topic.scope != .open, let refusal = topic.scope.refusal(of: topic.name, from: peer) { return refusal }
        guard let source = link.peerSource else { return .handled }
        let context = link.context(of: head, from: source)
        return topic.fanout(in: &run)
            ._withUnsafeGuaranteedRef {
                dispatch(topic, head, payload: payload, context: context, to: $0, from: peer, over: link, in: &run)
            }
    }

    private func dispatch(
        _ topic: Topic,
        _ head: EventHead,
        payload: UnsafeRawBufferPointer,
        context: EventContext,
        to fanout: Fanout,
        from peer: Peer,
        over link: Link,
        in run: inout EventRun
    ) -> EventDisposition {
        let arrival = trace.start(of: topic)
        link.tookInHand(name: topic.number)
        if arrival == 0, tap == nil, let receiver = fanout.receiver, !fanout.isWanted(otherThan: peer) {
            return handOver(payload, of: topic, to: receiver, head, context, from: peer, over: link, in: &run)
        }
        tap?(PassingEvent(name: topic.name, context: context, payload: payload, sender: peer.peerName))
        var sent: Topic.Sent?
        var beginning: UInt64 = 0
        var crowded: [Peer] = []
        let outcome = fanout.deliverHere(payload, context: context, keeping: &run.subscribers, strand: link.strand) {
            held in
            if fanout.isWanted(otherThan: peer) {
                var passed = passOn(topic, head, payload, context, from: peer, to: fanout, held: &held)
                if !passed.crowded.isEmpty, link.wasReadToEnd { swap(&crowded, &passed.crowded) }
                sent = passed
            }
            if arrival == 0 { return true }
            if sent != nil || deadLetters != nil {
                trace.recorder.note(.passing, of: topic.name, context, from: arrival, peer: peer.peerName)
            }
            beginning = MonotonicClock.now()
            return true
        } completion: { handlers in
            let completion = settlement(of: head, context, sent, from: peer, over: link).completion(
                handlers: handlers,
                refused: refusedLater(topic, payload: payload, context: context)
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
        for target in crowded { recoveryGate.wait(peer, for: target) }
        return settled(outcome, topic, head, payload, context, sent, from: peer, over: link)
    }

    /// Hands an event to the subscribers here if no other peer wants it and no trace or tap sees it.
    private func handOver(
        _ payload: UnsafeRawBufferPointer,
        of topic: Topic,
        to receiver: any EventReceiver,
        _ head: EventHead,
        _ context: EventContext,
        from peer: Peer,
        over link: Link,
        in run: inout EventRun
    ) -> EventDisposition {
        let outcome = receiver.receive(payload, context: context, keeping: &run.subscribers, strand: link.strand) { _ in
            true
        } completion: { handlers in
            settlement(of: head, context, nil, from: peer, over: link).completion(
                handlers: handlers,
                refused: refusedLater(topic, payload: payload, context: context)
            )
        }
        if case .handled(let count) = outcome, count > 0, !head.wantsReceipt { return .handled }
        return settled(outcome, topic, head, payload, context, nil, from: peer, over: link)
    }

    /// Passes an event on to the other peers that want it.
    private func passOn(
        _ topic: Topic,
        _ head: EventHead,
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        from peer: Peer,
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
            by: self
        )
    }

    private func settlement(
        of head: EventHead,
        _ context: EventContext,
        _ sent: Topic.Sent?,
        from peer: Peer,
        over link: Link
    ) -> Settlement {
        Settlement(
            link: link,
            from: peer,
            sequence: head.sequence.asWritten,
            receipt: head.wantsReceipt ? receipt(of: context.id, sent) : nil,
            crowded: sent?.crowded ?? [],
            backlogs: backlogs
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
        from peer: Peer,
        over link: Link
    ) -> EventDisposition {
        switch outcome {
        case .pending: return .pending
        case .handled, .unwanted:
            let isUnwanted = sent?.isUnwanted ?? true
            if !head.wantsReceipt, sent?.crowded.isEmpty ?? true {
                return outcome.handlers == 0 && isUnwanted ? .unwanted : .handled
            }
            settlement(of: head, context, sent, from: peer, over: link).handled(
                handlers: outcome.handlers,
                isUnwanted: isUnwanted
            )
            return .pending
        case .refused(let reason, let text):
            refusalSettled(topic.name, by: nil, reason: text) {
                UndeliveredEvent(name: topic.name, context: context, attempts: context.attempt, payload: payload)
            }
            if !head.wantsReceipt { return .refused(reason, text: text) }
            settlement(of: head, context, sent, from: peer, over: link).refused(reason, text: text)
            return .pending
        }
    }

    func announce(_ loss: Topic.Loss, of name: String) {
        losses.add(event: name, id: loss.id, link: loss.peerName, reason: loss.error.description)
        guard loss.error.code == .outboxFull else { return }
        loss.peer.link.note(Gap(loss.id, name: name, reason: .full))
    }
}
