import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// Everything the router knows of one event name: who wants it, and how it is delivered here.
final class NamedEvents: EventForwarder, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    let name: String
    /// By which this process's interest names it on every link.
    let number: UInt64
    /// Between whom the events pass.
    let passage: ControlNames.Passage
    /// Whether these are the events that tell of the traced, and leave no trace themselves.
    let isTrace: Bool
    // Unsafe: `router` outlives its names, as it owns them, and takes them out of the publisher when it stops.
    private unowned(unsafe) let router: EventRouter

    /// Who gets the events, as one immutable value: a change puts another in its place.
    final class Fanout: Sendable {
        /// All who want the events, whether each of them or their share; but for those that are attached.
        let targets: [Route]
        /// Those who want the events and for whom nobody waits.
        let attached: [Route]
        /// Which of them get an event; nil if all do.
        let pooled: PooledTargets?
        let receiver: (any EventReceiver)?
        /// The ``PayloadCoder`` of the type with this name, once that is known: there is one at the most.
        fileprivate let coder: (any AnyObject & Sendable)?

        init(
            targets: [Route],
            attached: [Route],
            pooled: PooledTargets?,
            receiver: (any EventReceiver)?,
            coder: (any AnyObject & Sendable)?
        ) {
            self.targets = targets
            self.attached = attached
            self.pooled = pooled
            self.receiver = receiver
            self.coder = coder
        }

        /// Whether a peer other than this one wants the events.
        func isWanted(otherThan route: Route) -> Bool {
            (pooled?.isWanted(otherThan: route) ?? targets.contains { $0 !== route })
                || attached.contains { $0 !== route }
        }

        /// Who gets an event.
        ///
        /// - Parameter origin: the peer that it came from; nil if it was published here.
        func targets(of payload: UnsafeRawBufferPointer, except origin: Route?) -> [Route] {
            pooled?.targets(of: payload, except: origin) ?? targets
        }

        /// Hands an event to the subscribers of this process.
        func deliverHere(
            _ payload: UnsafeRawBufferPointer,
            context: EventContext,
            lane: (any InlineLane)?,
            completion: (_ handlers: Int) -> any HandlingCompletion
        ) -> LocalOutcome {
            receiver?.receive(payload, context: context, lane: lane, completion: completion) ?? .unwanted
        }
    }

    private let lock = Lock()
    @exclusivity(unchecked) private var current = Fanout(
        targets: [],
        attached: [],
        pooled: nil,
        receiver: nil,
        coder: nil
    )

    init(name: String, number: UInt64, router: EventRouter) {
        self.name = name
        self.number = number
        self.router = router
        passage = router.control.passage(of: name)
        isTrace = name == EventsTraced.eventName
    }

    var fanout: Fanout { lock.withLock { current } }

    var targets: [Route] { fanout.targets }

    func setTargets(_ routes: [Route], isSelfReport: Bool) {
        let targets = routes.filter { !$0.isAttached }
        let attached = routes.filter(\.isAttached)
        let pooled = PooledTargets(targets, name: name, isSelfReport: isSelfReport, router: router)
        lock.withLock {
            current = Fanout(
                targets: targets,
                attached: attached,
                pooled: pooled,
                receiver: current.receiver,
                coder: current.coder
            )
        }
    }

    /// Hands the events to the subscribers of a channel from now on.
    func setReceiver(for channel: AnyEventChannel, publisher: EventPublisher) {
        func open<E: DomainEvent>(_ type: E.Type) -> any EventReceiver {
            // A channel's `eventType` is the type that it was made for.
            let channel = unsafeDowncast(channel, to: EventChannel<E>.self)
            return TypedReceiver(channel: channel, coder: coder(of: type, in: fanout), publisher: publisher)
        }
        let receiver = open(channel.eventType)
        lock.withLock {
            current = Fanout(
                targets: current.targets,
                attached: current.attached,
                pooled: current.pooled,
                receiver: receiver,
                coder: current.coder
            )
        }
    }

    /// How events of this type are encoded.
    ///
    /// One type at the most has the name in a publisher, which sees to that.
    private func coder<E: DomainEvent>(of type: E.Type, in fanout: Fanout) -> PayloadCoder<E> {
        if let known = fanout.coder { return unsafeDowncast(known, to: PayloadCoder<E>.self) }
        // Without the lock: a layout is its type's own code. Should two threads make one each, either does.
        let made = PayloadCoder<E>()
        lock.withLock {
            current = Fanout(
                targets: current.targets,
                attached: current.attached,
                pooled: current.pooled,
                receiver: current.receiver,
                coder: made
            )
        }
        return made
    }

    // MARK: - Out

    func forward<E: DomainEvent>(
        _ event: E,
        context: EventContext,
        intake: Intake,
        receipts: ReceiptLedger?
    ) -> Forwarded {
        let refusal = router.refusal(of: name, context)
        // Reports about the end itself still reach those for whom nobody waits; a worker could no longer handle them all.
        if let refusal, !router.isSelfReport(name) { return refused(refusal, context, intake) }
        let start = router.trace.start(of: self)
        defer { if start != 0 { router.trace.recorder.note(.publish, of: name, context, from: start) } }
        do {
            let fanout = fanout
            let coder = coder(of: E.self, in: fanout)
            return try PayloadScratch.current.withEncoded(event, by: coder) { payload in
                let targets =
                    refusal == nil
                    ? fanout.pooled?.targets(of: event, payload, isPublished: true) ?? fanout.targets : []
                let attached =
                    passage == .answer ? passage.askers(context, among: fanout.attached) : fanout.attached
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
                        ifThereIsRoom: intake == .awaited
                    )
                case .announced:
                    let sent = send(
                        payload,
                        context: context,
                        wantsReceipt: false,
                        to: targets,
                        attached: attached
                    )
                    for loss in sent.losses { router.announce(loss, of: name) }
                    return sent.losses.first.map { .failed($0.error) } ?? .taken
                }
            }
        } catch {
            return refused(DeliveryError(.notEncodable, "\(name) cannot be encoded: \(error)"), context, intake)
        }
    }

    private func refused(_ failure: DeliveryError, _ context: EventContext, _ intake: Intake) -> Forwarded {
        if case .announced = intake {
            router.losses.add(event: name, id: context.id, link: "every link", reason: failure.description)
        }
        return .failed(failure)
    }

    /// What became of an event at the peers that want it.
    struct Sent {
        /// Who did not take it, and why.
        var losses: [Loss] = []
        /// Who took it beyond the limit where waiting begins.
        var crowded: [Route] = []
        /// Who took it; only if they were asked for receipts.
        var reached: [String] = []
        /// Whether no peer wanted it.
        var isUnwanted = true
    }

    struct Loss {
        let route: Route
        let id: EventID
        let error: DeliveryError
        /// Whether it was dead-lettered.
        let isKept: Bool

        var peerName: String { route.peerName }
    }

    /// Into the outboxes of all peers that want it, or of none.
    ///
    /// - Parameter ifThereIsRoom: whether none gets it if waiting has begun at one.
    /// - Returns: Why none has got it. If somebody waits for receipts, also why one that was given up just now will not handle it.
    func sendToAll(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        receipts: ReceiptLedger?,
        to targets: [Route],
        attached: [Route],
        ifThereIsRoom: Bool = false
    ) -> Forwarded {
        if targets.count == 1, attached.isEmpty, receipts == nil, !targets[0].hasPolicies {
            let target = targets[0]
            let sent = target.send(context, name: self, payload: payload, ifThereIsRoom: ifThereIsRoom)
            if let sent { return sent }
            // It is leaving: those who get such events now do not have it among them.
            return sendToAll(
                payload,
                context: context,
                receipts: nil,
                to: fanout.targets(of: payload, except: nil).filter { $0 !== target },
                attached: attached,
                ifThereIsRoom: ifThereIsRoom
            )
        }
        let reservations: [Link.Reservation]
        do throws(DeliveryError) {
            guard let kept = try reserve(for: payload, at: targets, ifThereIsRoom: ifThereIsRoom) else {
                return .awaitsRoom
            }
            reservations = kept
        } catch {
            return .failed(error)
        }
        if let receipts, !targets.isEmpty {
            router.receipts.add(receipts)
            for target in targets { receipts.expect(target.peerName) }
        }
        let sent = send(
            payload,
            context: context,
            wantsReceipt: receipts != nil,
            to: targets,
            attached: attached,
            reservations: reservations
        )
        if receipts != nil { return sent.losses.first.map { .failed($0.error) } ?? .taken }
        // A worker that was given up between the two has lost it as it has lost all that lies in its outbox.
        for loss in sent.losses { router.announce(loss, of: name) }
        return .taken
    }

    /// Keeps room at all of them, or at none.
    ///
    /// - Returns: Nil if it is to be kept only if there is room, and waiting has begun at one.
    private func reserve(
        for payload: UnsafeRawBufferPointer,
        at targets: [Route],
        ifThereIsRoom: Bool
    ) throws(DeliveryError) -> [Link.Reservation]? {
        var kept: [Link.Reservation] = []
        kept.reserveCapacity(targets.count)
        defer { if kept.count < targets.count { for reservation in kept { reservation.cancel() } } }
        for target in targets {
            let reservation = try target.reserve(for: payload, name: name, ifThereIsRoom: ifThereIsRoom)
            guard let reservation else { return nil }
            kept.append(reservation)
        }
        return kept
    }

    /// Into every outbox first, then written: nobody sees an effect before its cause.
    ///
    /// - Parameters:
    ///   - origin: which does not get its own events back.
    ///   - attached: those who get it besides, as far as they keep up.
    ///   - reservations: the room that was kept at each target, or none at all.
    func send(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        except origin: Route? = nil,
        wantsReceipt: Bool,
        to targets: [Route],
        attached: [Route],
        reservations: [Link.Reservation] = []
    ) -> Sent {
        // With one receiver there is nobody who could be overtaken.
        let isHeld = targets.count + attached.count > 1
        var sent = Sent()
        var places: [Route.Place] = []
        var displaced: [(Route, Link.Displaced)] = []
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
                    // Who has attached comes back with a new window as often as it likes: windows bound what workers send, and nobody else.
                    isAccepted: origin.map { !$0.isAttached } ?? false,
                    reservation: reservation,
                    payload: payload
                )
                guard let place else {
                    if wantsReceipt { throw target.leaving(name) }
                    hasSomebodyLeft = true
                    return
                }
                for event in place.displaced { displaced.append((target, event)) }
                if place.isCrowded { sent.crowded.append(target) }
                if wantsReceipt { sent.reached.append(target.peerName) }
                if isHeld {
                    places.append(place)
                } else {
                    place.link.flush(at: context.nanosecondsSinceEpoch)
                }
            } catch {
                let isKept = router.keepsUndeliverable(
                    payload,
                    name: name,
                    context: context,
                    for: target,
                    because: error
                )
                sent.losses.append(Loss(route: target, id: context.id, error: error, isKept: isKept))
            }
        }
        for (index, target) in targets.enumerated() where target !== origin {
            enqueue(at: target, isHeld: isHeld, index < reservations.count ? reservations[index] : nil)
        }
        if hasSomebodyLeft {
            // Since it was found out who gets the event others have taken somebody's place.
            for target in fanout.targets(of: payload, except: origin)
            where target !== origin && !targets.contains(where: { $0 === target }) {
                enqueue(at: target, isHeld: true, nil)
            }
        }
        for receiver in attached where receiver !== origin {
            sent.isUnwanted = false
            let place = receiver.offer(context, name: name, number: number, isHeld: isHeld, payload: payload)
            guard let place else { continue }
            if isHeld { places.append(place) } else { place.link.flush(at: context.nanosecondsSinceEpoch) }
        }
        let now = context.nanosecondsSinceEpoch
        // Whoever writes to one after the other comes back to the first when its last write is long past: one busy line makes all busy.
        var isGathered = false
        for place in places where place.link.release(place.sequence, at: now) { isGathered = true }
        for place in places { place.link.flush(at: now, isGathered: isGathered) }
        for (target, event) in displaced { router.wasDisplaced(event, at: target) }
        return sent
    }

    var hasRoom: Bool { targets.allSatisfy { $0.hasRoom(for: name) } }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {
        for target in targets(of: event) { try await target.waitForRoom(for: name) }
    }

    /// Who is going to get an event; of a pool without keys, who would get it now.
    private func targets<E: DomainEvent>(of event: E) -> [Route] {
        let fanout = fanout
        guard let pooled = fanout.pooled else { return fanout.targets }
        let coder = coder(of: E.self, in: fanout)
        let found = try? PayloadScratch.current.withEncoded(event, by: coder) { payload in
            pooled.targets(of: event, payload, isPublished: false)
        }
        // What cannot be encoded is refused when it is published.
        return found ?? []
    }
}
