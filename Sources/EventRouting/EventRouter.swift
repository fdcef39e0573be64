package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks
import Synchronization

/// Decides where an event goes: to which peers, and whether to the subscribers of this process.
///
/// The same on both sides. The host's router has a route for each worker and passes events between them without decoding them;
/// a worker's has one, to the host. Interest goes the other way: what is wanted here, or by another peer, is asked of each peer.
package final class EventRouter: InterestObserver, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock` (wishes and interest) or `tableLock` (look-ups on the event path).

    /// The name with which a peer asks for every event that is not a self-report.
    package static let everything = "*"

    package let publisher: EventPublisher
    package let poller: Poller
    let losses: LossReporter
    let receipts = PendingReceipts()
    private let takeOverGate = TakeOverGate()
    private let isIntakeClosed = Atomic<Bool>(false)
    /// Sees every event that passes.
    ///
    /// Set before anything runs.
    package let tap: (@Sendable (PassingEvent) -> Void)?
    /// Where events go that a process could not handle; nil in a worker, whose host keeps them.
    let deadLetters: DeadLetterStore?
    /// Whether every event of every peer is asked for, as somebody watches.
    private let wantsEverything: Bool

    /// Serialises changes of interest; taken before any route's or link's lock.
    private let lock = Lock()
    private var routes: [Route] = []
    private var selfReports: Set<String> = []

    private let tableLock = Lock()
    private var namesByText: [String: NamedEvents] = [:]
    /// Position is number minus 1; number 0 is ``everything``.
    private var namesByNumber: [NamedEvents] = []
    /// The same, for the event path.
    private let numbers = NumberTable(capacity: EventRouter.maximumNames)

    package init(
        publisher: EventPublisher,
        poller: Poller,
        wantsEverything: Bool = false,
        deadLetters: DeadLetterStore? = nil,
        tap: (@Sendable (PassingEvent) -> Void)? = nil
    ) {
        self.deadLetters = deadLetters
        self.publisher = publisher
        self.poller = poller
        self.wantsEverything = wantsEverything
        self.tap = tap
        losses = LossReporter(publisher: publisher, poller: poller)
    }

    /// Begins to forward what the publisher publishes.
    package func start() {
        publisher.addInterestObserver(self)
    }

    /// Takes nothing more that nothing has caused: only what handlers publish passes from now on.
    package func closeIntake() {
        isIntakeClosed.store(true, ordering: .relaxed)
        // Workers that are down may not be started again, and make no room.
        takeOverGate.open()
    }

    /// Why an event of this process is not taken; nil if it is.
    func refusal(of name: String, _ context: EventContext) -> DeliveryError? {
        guard isIntakeClosed.load(ordering: .relaxed), context.cause == nil else { return nil }
        return DeliveryError(.shuttingDown, "\(name) was not taken: the bridge is shutting down")
    }

    /// Lets go of the publisher.
    package func stop() {
        receipts.failAll(DeliveryError(.workerUnavailable, "the bridge has ended"))
        losses.announce()
        publisher.removeInterestObserver(self)
        for named in tableLock.withLock({ namesByNumber }) {
            publisher.setForwarding(of: named.name, to: named, wanted: false)
        }
    }

    // MARK: - Names

    package static let maximumNames = 65_536

    /// The entry of a name; nil if a peer has made up more names than any program has.
    func named(_ name: String) -> NamedEvents? {
        tableLock.withLock {
            if let known = namesByText[name] { return known }
            guard namesByNumber.count < Self.maximumNames else { return nil }
            let made = NamedEvents(name: name, number: UInt64(namesByNumber.count + 1), router: self)
            namesByText[name] = made
            namesByNumber.append(made)
            numbers.append(made)
            return made
        }
    }

    /// The entry of a name that an event brings: one that is new may be wanted by a peer that wants everything.
    private func routed(_ name: String) -> NamedEvents? {
        if let known = tableLock.withLock({ namesByText[name] }) { return known }
        guard let entry = named(name) else { return nil }
        updateTargets(of: [entry])
        return entry
    }

    func named(_ number: UInt64) -> NamedEvents? { numbers[number] }

    // MARK: - Routes and their interest

    /// Adds a peer; what its specification says it wants is kept for it from now on.
    package func add(_ route: Route) {
        lock.withLock {
            routes.append(route)
            for name in route.specified where name != Self.everything { _ = named(name) }
        }
        updateTargets()
    }

    /// The route to the peer of this name.
    func route(to name: String) -> Route? { lock.withLock { routes.first { $0.peerName == name } } }

    /// Whether events of this name are reports of the bridge about itself.
    func isSelfReport(_ name: String) -> Bool { lock.withLock { selfReports.contains(name) } }

    /// Tells the peer of a freshly established link what is wanted of it; from now on it is told of every change.
    package func announceInterest(to route: Route, over link: Link) {
        lock.withLock {
            route.asked = []
            route.announced = []
            route.announcedLink = link
            var interest = Interest()
            if wantsEverything {
                interest.wanted.append(Interest.Name(number: 0, name: Self.everything))
            }
            for named in tableLock.withLock({ namesByNumber }) where isWanted(named, of: route) {
                route.announced.insert(named.number)
                interest.wanted.append(Interest.Name(number: named.number, name: named.name))
            }
            // Also if it is empty: a worker runs no code of its own before it knows what the host wants.
            link.queue(.interest(interest))
        }
        updateTargets()
        link.pump()
    }

    /// Takes over what a peer has asked for.
    package func interestReceived(_ interest: Interest, from route: Route, over link: Link) {
        lock.withLock {
            for number in interest.unwanted {
                if let name = link.peerInterestName(of: number) { route.asked.remove(name) }
            }
            for wanted in interest.wanted {
                route.asked.insert(wanted.name)
                if wanted.name != Self.everything { _ = named(wanted.name) }
            }
        }
        if interest.wanted.contains(where: { $0.name == Self.everything }) || interest.wanted.count > 1
            || !interest.unwanted.isEmpty
        {
            updateTargets()
        } else if let name = interest.wanted.first?.name, let entry = named(name) {
            updateTargets(of: [entry])
        }
    }

    /// A peer is down until something comes for it that its specification subscribes to: what else it had asked for is nothing to it.
    package func forgetInterest(of route: Route) {
        let hadAny = lock.withLock {
            defer { route.asked = [] }
            return !route.asked.isEmpty
        }
        if hadAny { updateTargets() }
    }

    /// Whether the peer has asked for all of these, and if not, for which it has not.
    package func missingInterest(of route: Route, in names: [String]) -> [String] {
        lock.withLock {
            route.asked.contains(Self.everything) ? [] : names.filter { !route.asked.contains($0) }
        }
    }

    /// Works out anew who wants what, and tells publisher and peers what follows.
    private func updateTargets() {
        updateTargets(of: tableLock.withLock { namesByNumber })
    }

    private func updateTargets(of entries: [NamedEvents]) {
        let touched = lock.withLock {
            for entry in entries {
                let isSelfReport = selfReports.contains(entry.name)
                let targets = routes.filter { $0.wants(entry.name, isSelfReport: isSelfReport) }
                entry.setTargets(targets, isSelfReport: isSelfReport)
                publisher.setForwarding(of: entry.name, to: entry, wanted: !targets.isEmpty || isTapped(entry.name))
            }
            return updateInterest(in: entries)
        }
        for link in touched { link.pump() }
    }

    private func isTapped(_ name: String) -> Bool { tap != nil && !selfReports.contains(name) }

    /// Queues what has changed for each peer; under `lock`.
    private func updateInterest(in entries: [NamedEvents]) -> [Link] {
        var touched: [Link] = []
        for route in routes {
            // Before it has been told everything, a link is not told of changes.
            guard let link = route.announcedLink, !link.hasEnded else { continue }
            var interest = Interest()
            for entry in entries {
                let isAnnounced = route.announced.contains(entry.number)
                let isWanted = isWanted(entry, of: route)
                if isWanted, !isAnnounced {
                    route.announced.insert(entry.number)
                    interest.wanted.append(Interest.Name(number: entry.number, name: entry.name))
                } else if !isWanted, isAnnounced {
                    route.announced.remove(entry.number)
                    interest.unwanted.append(entry.number)
                }
            }
            guard !interest.wanted.isEmpty || !interest.unwanted.isEmpty else { continue }
            link.queue(.interest(interest))
            touched.append(link)
        }
        return touched
    }

    /// Whether the events are wanted here or by another peer.
    ///
    /// No echo: a peer's own wish asks nothing of itself.
    private func isWanted(_ entry: NamedEvents, of route: Route) -> Bool {
        publisher.isWanted(entry.name) || entry.fanout.isWanted(otherThan: route)
    }

    package func interestMayHaveChanged(in name: String) {
        guard let entry = named(name) else { return }
        if let channel = publisher.channel(named: name), channel.hasSubscribers {
            entry.setReceiver(for: channel, publisher: publisher)
        }
        let touched = lock.withLock { updateInterest(in: [entry]) }
        for link in touched { link.pump() }
    }

    package func channelWasMade(_ channel: AnyEventChannel) {
        guard let entry = named(channel.name) else { return }
        if channel.eventType is any SelfReport.Type {
            lock.withLock { _ = selfReports.insert(channel.name) }
        }
        if channel.hasSubscribers { entry.setReceiver(for: channel, publisher: publisher) }
        updateTargets(of: [entry])
    }

    /// The name of an event that a peer sent; nil if its number was never given out.
    package func name(of head: EventHead) -> String? {
        switch head.name {
        case .text(let text): text
        case .number(let number): named(number)?.name
        }
    }

    // MARK: - Events in

    /// Routes an event that a peer sent: to the others that want it, as it is, then to the subscribers here.
    package func eventReceived(
        _ head: EventHead,
        payload: UnsafeRawBufferPointer,
        from route: Route,
        over link: Link
    ) throws -> EventDisposition {
        let entry: NamedEvents?
        switch head.name {
        case .number(let number):
            entry = named(number)
            guard entry != nil else {
                throw LinkViolation("event \(head.sequence) has name number \(number), which nobody gave out")
            }
        case .text(let name): entry = routed(name)
        }
        guard let entry else {
            throw LinkViolation("more than \(Self.maximumNames) event names are in use")
        }
        guard let context = link.context(of: head) else { return .handled }
        return dispatch(entry, head, payload: payload, context: context, from: route, over: link)
    }

    private func dispatch(
        _ entry: NamedEvents,
        _ head: EventHead,
        payload: UnsafeRawBufferPointer,
        context: EventContext,
        from route: Route,
        over link: Link
    ) -> EventDisposition {
        let fanout = entry.fanout
        tap?(PassingEvent(name: entry.name, context: context, payload: payload, sender: route.peerName))
        let sent =
            fanout.isWanted(otherThan: route)
            ? passOn(entry, head, payload, context, from: route, over: link, to: fanout) : nil
        let outcome = fanout.deliverHere(payload, context: context, lane: link.lane) { handlers in
            settlement(of: head, context, sent, over: link).completion(
                handlers: handlers,
                refused: head.wantsReceipt ? nil : refusedLater(entry, payload: payload, context: context)
            )
        }
        return settled(outcome, entry, head, payload, context, sent, over: link)
    }

    /// Passes an event on to the other peers that want it.
    private func passOn(
        _ entry: NamedEvents,
        _ head: EventHead,
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        from route: Route,
        over link: Link,
        to fanout: NamedEvents.Fanout
    ) -> NamedEvents.Sent {
        var sent = entry.send(
            payload,
            context: context,
            except: route,
            wantsReceipt: head.wantsReceipt,
            to: fanout.targets(of: payload, except: route)
        )
        if !sent.crowded.isEmpty, link.wasReadToEnd {
            // No window slows a peer that is gone: what it has left behind waits here, and its events are settled.
            for target in sent.crowded { takeOverGate.wait(route, for: target) }
            sent.crowded = []
        }
        for loss in sent.losses { announce(loss, of: entry.name) }
        return sent
    }

    private func settlement(
        of head: EventHead,
        _ context: EventContext,
        _ sent: NamedEvents.Sent?,
        over link: Link
    ) -> Settlement {
        Settlement(
            link: link,
            sequence: head.sequence,
            receipt: head.wantsReceipt ? receipt(of: context.id, sent) : nil,
            crowded: sent?.crowded ?? []
        )
    }

    /// Says what the link is told now of an event that has been to all who want it.
    private func settled(
        _ outcome: LocalOutcome,
        _ entry: NamedEvents,
        _ head: EventHead,
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ sent: NamedEvents.Sent?,
        over link: Link
    ) -> EventDisposition {
        switch outcome {
        case .pending: return .pending
        case .handled, .unwanted:
            let isUnwanted = sent?.isUnwanted ?? true
            if !head.wantsReceipt, sent?.crowded.isEmpty ?? true {
                return outcome.handlers == 0 && isUnwanted ? .unwanted : .handled
            }
            settlement(of: head, context, sent, over: link).handled(handlers: outcome.handlers, isUnwanted: isUnwanted)
            return .pending
        case .refused(let reason, let text):
            if !head.wantsReceipt {
                refusalSettled(entry.name, by: nil, reason: text) {
                    UndeliveredEvent(name: entry.name, context: context, attempts: context.attempt, payload: payload)
                }
                return .refused(reason, text: text)
            }
            settlement(of: head, context, sent, over: link).refused(reason, text: text)
            return .pending
        }
    }

    func announce(_ loss: NamedEvents.Loss, of name: String) {
        // A dead letter has been announced.
        if loss.isKept { return }
        losses.add(event: name, id: loss.id, link: loss.peerName, reason: loss.error.description)
        guard loss.error.code == .outboxFull else { return }
        loss.route.link.note(Gap(loss.id, name: name, reason: .full))
    }

    // MARK: - Events without a type

    /// Publishes an event whose type this process does not know, from its encoded form.
    ///
    /// - Parameter context: made by the publisher for this event, if the caller has to know its identity beforehand.
    /// - Returns: How many peers and local subscribers it went to, or why it could not.
    package func publish(
        name: String,
        payload: UnsafeRawBufferPointer,
        context: EventContext? = nil
    ) -> Result<Int, DeliveryError> {
        guard (1...EventNames.maximumBytes).contains(name.utf8.count), name != Self.everything else {
            return .failure(
                DeliveryError(
                    .notEncodable,
                    "an event name has 1 to \(EventNames.maximumBytes) bytes and is not \"*\"; found \(name.utf8.count)"
                )
            )
        }
        guard let entry = routed(name) else {
            return .failure(DeliveryError(.outboxFull, "more than \(Self.maximumNames) event names are in use"))
        }
        let context = context ?? publisher.makeContext(causedBy: nil)
        tap?(PassingEvent(name: name, context: context, payload: payload, sender: nil))
        if let refusal = refusal(of: name, context) { return .failure(refusal) }
        let peers = entry.fanout.targets(of: payload, except: nil)
        let targets = peers.count
        let outcome = entry.sendToAll(payload, context: context, receipts: nil, to: peers)
        if case .failed(let failure) = outcome { return .failure(failure) }
        switch entry.fanout.deliverHere(
            payload,
            context: context,
            lane: nil,
            completion: { _ in UnwatchedCompletion() }
        ) {
        case .handled, .pending: return .success(targets + 1)
        case .unwanted: return .success(targets)
        case .refused(_, let text): return .failure(DeliveryError(.notEncodable, "\(name) was refused here: \(text)"))
        }
    }

    /// Returns when every peer that wants the events of this name has room for one more, or is not going to have any.
    package func waitForRoom(name: String) async {
        guard let entry = tableLock.withLock({ namesByText[name] }) else { return }
        // A peer that takes nothing any more is no reason to keep the others waiting; whoever publishes learns of it.
        for target in entry.targets where !target.hasRoom(for: name) {
            try? await target.waitForRoom(for: name)
        }
    }

    /// Whether every peer that wants the events of this name has room for one more.
    package func hasRoom(name: String) -> Bool {
        tableLock.withLock { namesByText[name] }?.hasRoom ?? true
    }

    /// The names of all events that some peer wants.
    package var namesWantedByPeers: [String] {
        tableLock.withLock { namesByNumber }.filter { !$0.targets.isEmpty }.map(\.name)
    }

    /// Whether some peer or subscriber wants the events of this name.
    package func isWanted(_ name: String) -> Bool {
        guard let entry = tableLock.withLock({ namesByText[name] }) else { return false }
        return !entry.targets.isEmpty || publisher.isWanted(name)
    }
}

/// For an event that nobody waits for.
private final class UnwatchedCompletion: HandlingCompletion {
    func handlersReturned(failure: (any Error)?) {}
}
