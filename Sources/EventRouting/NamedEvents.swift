import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import Locks
import Synchronization

/// Everything the router knows of one event name: the peers that want it, and how it is delivered here.
final class NamedEvents: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    let name: String
    /// The number that stands for the name in this process's interest, on every link.
    let number: UInt64
    /// Between which processes the events pass.
    let passage: ControlNames.Passage
    /// Whether these are the events that report traces, which leave no trace themselves.
    let isTrace: Bool

    /// The receivers of the events, as one immutable value; a change puts another value in its place.
    final class Fanout: Sendable {
        /// All peers that want the events, or a share of them, without attached peers.
        let targets: [Route]
        /// The attached peers that want the events; nothing waits for them.
        let attached: [Route]
        /// Chooses which of ``targets`` get an event; nil if all do.
        let pooled: PooledTargets?
        let receiver: (any EventReceiver)?
        /// The only target, if an event needs nothing but its outbox to be written; nil otherwise.
        ///
        /// ``targets`` hold it, so the reference is not counted.
        let sole: Unmanaged<Route>?

        init(targets: [Route], attached: [Route], pooled: PooledTargets?, receiver: (any EventReceiver)?) {
            self.targets = targets
            self.attached = attached
            self.pooled = pooled
            self.receiver = receiver
            sole = pooled == nil ? Self.sole(among: targets, attached).map { .passUnretained($0) } : nil
        }

        /// The only peer that gets an event, if the event needs nothing but its outbox to be written.
        fileprivate static func sole(among targets: [Route], _ attached: [Route]) -> Route? {
            guard targets.count == 1, attached.isEmpty, !targets[0].hasPolicies else { return nil }
            return targets[0]
        }

        /// Whether this peer wants the events, or a share of them.
        func goes(to route: Route) -> Bool {
            targets.contains { $0 === route } || attached.contains { $0 === route }
        }

        /// Whether a peer other than this one wants the events.
        func isWanted(otherThan route: Route) -> Bool {
            (pooled?.isWanted(otherThan: route) ?? targets.contains { $0 !== route })
                || attached.contains { $0 !== route }
        }

        /// The peers that get an event.
        ///
        /// - Parameter origin: the peer that the event came from; nil if it was published here.
        func targets(of payload: UnsafeRawBufferPointer, except origin: Route?) -> [Route] {
            pooled?.targets(of: payload, except: origin) ?? targets
        }

        /// Hands an event to the subscribers of this process, and calls `passOn` as ``EventReceiver`` says.
        func deliverHere(
            _ payload: UnsafeRawBufferPointer,
            context: EventContext,
            lane: (any InlineLane)?,
            passOn: (_ held: inout [any HeldEvent]?) -> Bool,
            completion: (_ handlers: Int) -> any HandlingCompletion
        ) -> LocalOutcome {
            if let receiver {
                return receiver.receive(payload, context: context, lane: lane, passOn: passOn, completion: completion)
            }
            var atOnce: [any HeldEvent]?
            _ = passOn(&atOnce)
            return .unwanted
        }
    }

    /// Whether ``setTargets(_:isSelfReport:reports:)`` has set the receivers.
    private let wasTargeted = Atomic<Bool>(false)

    private let lock = Lock()
    @exclusivity(unchecked) private var current = Fanout(targets: [], attached: [], pooled: nil, receiver: nil)
    /// The ``PayloadCoder`` of the type with this name, owned here; nil until that type is known, and there is at most
    /// one.
    private let coder = Atomic<UnsafeRawPointer?>(nil)

    init(name: String, number: UInt64, passage: ControlNames.Passage) {
        self.name = name
        self.number = number
        self.passage = passage
        isTrace = name == EventsTraced.eventName
    }

    deinit {
        if let coder = coder.load(ordering: .acquiring) { Unmanaged<AnyObject>.fromOpaque(coder).release() }
    }

    var fanout: Fanout { lock.withLock { current } }

    var targets: [Route] { fanout.targets }

    /// Whether ``setTargets(_:isSelfReport:reports:)`` has been called.
    var hasTargets: Bool { wasTargeted.load(ordering: .acquiring) }

    /// - Returns: Who gets the events from now on.
    func setTargets(_ routes: [Route], isSelfReport: Bool, reports: ReportLine) -> Fanout {
        let targets = routes.filter { !$0.isAttached }
        let attached = routes.filter(\.isAttached)
        let pooled = PooledTargets(targets, name: name, isSelfReport: isSelfReport, reports: reports)
        let fanout = lock.withLock {
            let made = Fanout(targets: targets, attached: attached, pooled: pooled, receiver: current.receiver)
            current = made
            return made
        }
        wasTargeted.store(true, ordering: .releasing)
        return fanout
    }

    /// Hands the events to the subscribers of a channel from now on.
    func setReceiver(for channel: AnyEventChannel, publisher: EventPublisher) {
        func open<E: DomainEvent>(_ type: E.Type) -> any EventReceiver {
            // A channel's `eventType` is the type that it was made for.
            let channel = unsafeDowncast(channel, to: EventChannel<E>.self)
            return withCoder(of: type) { TypedReceiver(channel: channel, coder: $0, publisher: publisher) }
        }
        let receiver = open(channel.eventType)
        lock.withLock {
            current = Fanout(
                targets: current.targets,
                attached: current.attached,
                pooled: current.pooled,
                receiver: receiver
            )
        }
    }

    /// Calls `body` with the coder of this type, which is made once and lives as long as this entry.
    ///
    /// At most one type has the name in a publisher; the publisher makes sure of that.
    private func withCoder<E: DomainEvent, R>(of type: E.Type, _ body: (PayloadCoder<E>) throws -> R) rethrows -> R {
        let address = coder.load(ordering: .acquiring) ?? makeCoder(of: type)
        return try Unmanaged<PayloadCoder<E>>.fromOpaque(address)._withUnsafeGuaranteedRef(body)
    }

    private func makeCoder<E: DomainEvent>(of type: E.Type) -> UnsafeRawPointer {
        // Without the lock, as a layout is its type's own code. If two threads make one each, the first one stays.
        let made = Unmanaged.passRetained(PayloadCoder<E>())
        let (isFirst, known) = coder.compareExchange(
            expected: nil,
            desired: UnsafeRawPointer(made.toOpaque()),
            ordering: .acquiringAndReleasing
        )
        guard !isFirst, let known else { return UnsafeRawPointer(made.toOpaque()) }
        made.release()
        return known
    }

    // MARK: - Out

    /// - Parameter fanout: the receivers of the events.
    func forward<E: DomainEvent>(
        _ event: E,
        to fanout: Fanout,
        context: EventContext,
        intake: Intake,
        receipts: ReceiptLedger?,
        held: inout [any HeldEvent]?,
        by router: EventRouter
    ) -> Forwarded {
        let refusal = router.refusal(of: name, context)
        // Reports about the end itself still go to the attached peers, for which nothing waits. A worker could no
        // longer handle them all.
        if let refusal, !router.isSelfReport(name) { return refused(refusal, context, intake, by: router) }
        let start = router.trace.start(of: self)
        defer { if start != 0 { router.trace.recorder.note(.publish, of: name, context, from: start) } }
        do {
            return try withCoder(of: E.self) { coder in
                try PayloadScratch.withEncoded(event, by: coder) { payload in
                    if receipts == nil, held == nil, refusal == nil, router.tap == nil, let sole = fanout.sole,
                        let sent = sole._withUnsafeGuaranteedRef({ send(payload, context, intake, to: $0) })
                    {
                        return sent
                    }
                    let targets =
                        refusal == nil
                        ? fanout.pooled?.targets(of: event, payload, isPublished: true) ?? fanout.targets : []
                    return forward(
                        payload,
                        context,
                        intake,
                        receipts,
                        to: targets,
                        fanout.attached,
                        held: &held,
                        by: router
                    )
                }
            }
        } catch {
            let failure = DeliveryError(
                .notEncodable,
                of: name,
                id: context.id,
                "\(name) cannot be encoded: \(CBORError.sentence(of: error))",
                field: (error as? CBORError)?.field
            )
            return refused(failure, context, intake, by: router)
        }
    }

    /// Puts an event into the outbox of the only peer that gets it.
    ///
    /// - Returns: Nil if the caller has to send it again in the general way, which also reports losses.
    private func send(
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ intake: Intake,
        to sole: Route
    ) -> Forwarded? {
        let sent = sole.send(context, name: self, payload: payload, ifThereIsRoom: intake == .awaited)
        if intake == .announced { if case .taken? = sent { return sent } else { return nil } }
        return sent
    }

    private func forward(
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ intake: Intake,
        _ receipts: ReceiptLedger?,
        to targets: [Route],
        _ everyAttached: [Route],
        held: inout [any HeldEvent]?,
        by router: EventRouter
    ) -> Forwarded {
        let attached = passage == .answer ? passage.askers(context, among: everyAttached) : everyAttached
        if let tap = router.tap {
            tap(PassingEvent(name: name, context: context, payload: payload, sender: nil))
        }
        switch intake {
        case .awaited, .thrown:
            return sendToAll(
                payload,
                context: context,
                receipts: receipts,
                to: targets,
                attached: attached,
                ifThereIsRoom: intake == .awaited,
                held: &held,
                by: router
            )
        case .announced:
            if receipts == nil, held == nil, let alone = Fanout.sole(among: targets, attached),
                let sent = send(payload, context, intake, to: alone)
            {
                return sent
            }
            let sent = send(
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

    private func refused(
        _ failure: DeliveryError,
        _ context: EventContext,
        _ intake: Intake,
        by router: EventRouter
    ) -> Forwarded {
        if case .announced = intake {
            router.losses.add(event: name, id: context.id, link: "every link", reason: failure.description)
        }
        return .failed(failure)
    }

    /// The outcome of an event at the peers that want it.
    struct Sent {
        /// The peers that did not take it, and why.
        var losses: [Loss] = []
        /// The peers that took it beyond the limit where waiting begins.
        var crowded: [Route] = []
        /// The peers that took it; only if they were asked for receipts.
        var reached: [String] = []
        /// Whether no peer wanted it.
        var isUnwanted = true
    }

    struct Loss {
        let route: Route
        let id: EventID
        let error: DeliveryError
        /// The event, if it has to become a dead letter.
        let event: UndeliveredEvent?

        var peerName: String { route.peerName }
    }

    /// Puts an event into the outboxes of all peers that want it, or of none.
    ///
    /// - Parameters:
    ///   - ifThereIsRoom: whether no peer gets it if waiting has begun at one.
    ///   - held: as in ``EventForwarder``.
    /// - Returns: The reason why no peer has got it. If a publisher waits for receipts, also the reason why a peer that
    ///   was given up just now will not handle it.
    func sendToAll(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        receipts: ReceiptLedger?,
        to targets: [Route],
        attached: [Route],
        ifThereIsRoom: Bool = false,
        held: inout [any HeldEvent]?,
        by router: EventRouter
    ) -> Forwarded {
        if receipts == nil, held == nil, let alone = Fanout.sole(among: targets, attached) {
            let sent = alone.send(context, name: self, payload: payload, ifThereIsRoom: ifThereIsRoom)
            if let sent { return sent }
            return sendToThoseWhoStay(
                payload,
                context,
                receipts,
                attached: attached,
                ifThereIsRoom: ifThereIsRoom,
                held: &held,
                by: router
            )
        }
        let kept: Kept
        do throws(DeliveryError) {
            kept = try reserve(for: payload, at: targets, ifThereIsRoom: ifThereIsRoom)
        } catch {
            return .failed(error)
        }
        let reservations: [Link.Reservation]
        switch kept {
        case .everywhere(let all): reservations = all
        case .awaitsRoom: return .awaitsRoom
        case .somebodyLeft:
            return sendToThoseWhoStay(
                payload,
                context,
                receipts,
                attached: attached,
                ifThereIsRoom: ifThereIsRoom,
                held: &held,
                by: router
            )
        }
        if let receipts, !targets.isEmpty { router.receipts.add(receipts) }
        let sent = send(
            payload,
            context: context,
            wantsReceipt: receipts != nil,
            to: targets,
            attached: attached,
            reservations: reservations,
            // A worker that was given up between the two has lost it, as it has lost all events in its outbox.
            announcesLosses: receipts == nil,
            held: &held,
            by: router
        )
        guard let receipts else { return .taken }
        for process in sent.reached { receipts.expect(process) }
        return sent.losses.first.map { .failed($0.error) } ?? .taken
    }

    /// Sends the event again after a target has left meanwhile; works out the targets anew.
    private func sendToThoseWhoStay(
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ receipts: ReceiptLedger?,
        attached: [Route],
        ifThereIsRoom: Bool,
        held: inout [any HeldEvent]?,
        by router: EventRouter
    ) -> Forwarded {
        sendToAll(
            payload,
            context: context,
            receipts: receipts,
            to: fanout.targets(of: payload, except: nil).filter { !$0.hasLeft(name) },
            attached: attached,
            ifThereIsRoom: ifThereIsRoom,
            held: &held,
            by: router
        )
    }

    /// The outcome of reserving room for an event.
    private enum Kept {
        case everywhere([Link.Reservation])
        /// No room was kept: `ifThereIsRoom` is set, and waiting has begun at one target.
        case awaitsRoom
        /// No room was kept: such events no longer go to one of the targets.
        case somebodyLeft
    }

    /// Reserves room at all targets, or at none.
    private func reserve(
        for payload: UnsafeRawBufferPointer,
        at targets: [Route],
        ifThereIsRoom: Bool
    ) throws(DeliveryError) -> Kept {
        var kept: [Link.Reservation] = []
        kept.reserveCapacity(targets.count)
        defer { if kept.count < targets.count { for reservation in kept { reservation.cancel() } } }
        for target in targets {
            switch try target.reserve(for: payload, name: name, ifThereIsRoom: ifThereIsRoom) {
            case .reserved(let reservation): kept.append(reservation)
            case .refused(.left): return .somebodyLeft
            case .refused: return .awaitsRoom
            }
        }
        return .everywhere(kept)
    }

    /// Puts an event into every outbox, and then writes it if it is not held, so that no peer sees an effect before its
    /// cause.
    ///
    /// - Parameters:
    ///   - origin: the peer that sent the event; it does not get its own events back.
    ///   - attached: the attached peers that also get it, as far as they keep up.
    ///   - reservations: the room that was kept at each target; empty if none was.
    ///   - announcesLosses: whether to announce the peers that did not take it; otherwise the caller does.
    ///   - held: as in ``EventForwarder``.
    func send(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        except origin: Route? = nil,
        wantsReceipt: Bool,
        to targets: [Route],
        attached: [Route],
        reservations: [Link.Reservation] = [],
        announcesLosses: Bool = true,
        held: inout [any HeldEvent]?,
        by router: EventRouter
    ) -> Sent {
        // With one receiver, and none here, the event cannot overtake itself at another.
        let isHeld = held != nil || targets.count + attached.count > 1
        var sent = Sent()
        var departure = Departure(of: name, context, by: router)
        var hasSomebodyLeft = false
        func enqueue(at target: Route, isHeld: Bool, _ reservation: Link.Reservation?) {
            sent.isUnwanted = false
            do throws(DeliveryError) {
                let place = try target.enqueue(
                    context,
                    name: name,
                    number: number,
                    isHeld: isHeld,
                    wantsReceipt: wantsReceipt,
                    // An attached peer may come back with a new window as often as it likes. So windows bound only what
                    // workers send.
                    isAccepted: origin.map { !$0.isAttached } ?? false,
                    reservation: reservation,
                    payload: payload
                )
                guard let place else {
                    hasSomebodyLeft = true
                    return
                }
                if wantsReceipt, let origin { router.takeOverGate.wasAsked(target, by: origin) }
                for event in place.displaced { departure.displaced.append((target, event)) }
                if place.isCrowded { sent.crowded.append(target) }
                if wantsReceipt { sent.reached.append(target.peerName) }
                if isHeld {
                    departure.places.append(place)
                } else {
                    place.link.flush(at: context.nanosecondsSinceEpoch)
                }
            } catch {
                let event = router.undeliverable(payload, name: name, context: context, for: target, because: error)
                sent.losses.append(Loss(route: target, id: context.id, error: error, event: event))
            }
        }
        for (index, target) in targets.enumerated() where target !== origin {
            enqueue(at: target, isHeld: isHeld, index < reservations.count ? reservations[index] : nil)
        }
        var asked = targets
        while hasSomebodyLeft {
            // Since the targets of the event were found out, other peers have taken the place of one of them. Of a pool
            // one member was among the targets, and has the event.
            hasSomebodyLeft = false
            let others = fanout.targets(of: payload, except: origin).filter { other in
                other !== origin && !asked.contains { $0 === other || $0.pool != nil && $0.pool === other.pool }
            }
            asked += others
            for target in others { enqueue(at: target, isHeld: true, nil) }
        }
        for receiver in attached where receiver !== origin {
            sent.isUnwanted = false
            let place = receiver.offer(context, name: name, number: number, isHeld: isHeld, payload: payload)
            guard let place else { continue }
            if isHeld { departure.places.append(place) } else { place.link.flush(at: context.nanosecondsSinceEpoch) }
        }
        departure.losses = sent.losses
        departure.announcesLosses = announcesLosses
        if held == nil {
            departure.release()
            departure.flush()
        } else {
            held?.append(departure)
        }
        return sent
    }

    var hasRoom: Bool { targets.allSatisfy { $0.hasRoom(for: name) } }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {
        for target in targets(of: event) { try await target.waitForRoom(for: name) }
    }

    /// The peers that will get an event; for a pool without keys, the member that would get it now.
    private func targets<E: DomainEvent>(of event: E) -> [Route] {
        let fanout = fanout
        guard let pooled = fanout.pooled else { return fanout.targets }
        let found = try? withCoder(of: E.self) { coder in
            try PayloadScratch.withEncoded(event, by: coder) { payload in
                pooled.targets(of: event, payload, isPublished: false)
            }
        }
        // An event that cannot be encoded is refused when it is published.
        return found ?? []
    }
}
