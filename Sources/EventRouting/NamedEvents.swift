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
    // Unsafe: `router` outlives its names, as it owns them, and takes them out of the publisher when it stops.
    private unowned(unsafe) let router: EventRouter

    /// Who gets the events, as one immutable value: a change puts another in its place.
    final class Fanout: Sendable {
        /// All who want the events, whether each of them or their share.
        let targets: [Route]
        /// Which of them get an event; nil if all do.
        let pooled: PooledTargets?
        let receiver: (any EventReceiver)?

        init(targets: [Route], pooled: PooledTargets?, receiver: (any EventReceiver)?) {
            self.targets = targets
            self.pooled = pooled
            self.receiver = receiver
        }

        /// Whether a peer other than this one wants the events.
        func isWanted(otherThan route: Route) -> Bool {
            pooled?.isWanted(otherThan: route) ?? targets.contains { $0 !== route }
        }

        /// Who gets an event.
        ///
        /// - Parameter origin: the peer that it came from; nil if it was published here.
        func targets(of payload: UnsafeRawBufferPointer, _ context: EventContext, except origin: Route?) -> [Route] {
            pooled?.targets(of: payload, context, except: origin) ?? targets
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
    @exclusivity(unchecked) private var current = Fanout(targets: [], pooled: nil, receiver: nil)
    /// The ``PayloadCoder`` of the type with this name, once that is known: there is one at the most.
    @exclusivity(unchecked) private var knownCoder: AnyObject?

    init(name: String, number: UInt64, router: EventRouter) {
        self.name = name
        self.number = number
        self.router = router
    }

    var fanout: Fanout { lock.withLock { current } }

    var targets: [Route] { fanout.targets }

    func setTargets(_ routes: [Route]) {
        let pooled = PooledTargets(routes, name: name, router: router)
        lock.withLock { current = Fanout(targets: routes, pooled: pooled, receiver: current.receiver) }
    }

    /// Hands the events to the subscribers of a channel from now on.
    func setReceiver(for channel: AnyEventChannel, publisher: EventPublisher) {
        func open<E: DomainEvent>(_ type: E.Type) -> any EventReceiver {
            // A channel's `eventType` is the type that it was made for.
            let channel = unsafeDowncast(channel, to: EventChannel<E>.self)
            return TypedReceiver(channel: channel, coder: entry(of: type).coder, publisher: publisher)
        }
        let receiver = open(channel.eventType)
        lock.withLock {
            current = Fanout(targets: current.targets, pooled: current.pooled, receiver: receiver)
        }
    }

    /// Who gets events of this type, and how they are encoded.
    ///
    /// One type at the most has the name in a publisher, which sees to that.
    private func entry<E: DomainEvent>(
        of type: E.Type
    ) -> (targets: [Route], pooled: PooledTargets?, coder: PayloadCoder<E>) {
        let (targets, pooled, known) = lock.withLock { (current.targets, current.pooled, knownCoder) }
        if let known { return (targets, pooled, unsafeDowncast(known, to: PayloadCoder<E>.self)) }
        let made = PayloadCoder<E>()
        lock.withLock { knownCoder = made }
        return (targets, pooled, made)
    }

    // MARK: - Out

    func forward<E: DomainEvent>(
        _ event: E,
        context: EventContext,
        intake: Intake,
        receipts: ReceiptLedger?
    ) -> Forwarded {
        if let refusal = router.refusal(of: name, context) { return refused(refusal, context, intake) }
        do {
            let (wanting, pooled, coder) = entry(of: E.self)
            return try PayloadScratch.current.withEncoded(event, by: coder) { payload in
                let targets = pooled?.targets(of: event, payload, context) ?? wanting
                if let tap = router.tap {
                    tap(PassingEvent(name: name, context: context, payload: payload, sender: nil))
                }
                switch intake {
                case .awaited:
                    if targets.count == 1, !targets[0].hasPolicies {
                        return targets[0].send(context, name: self, payload: payload, ifThereIsRoom: true)
                    }
                    guard hasRoom(at: targets) else { return .awaitsRoom }
                    return sendToAll(payload, context: context, receipts: receipts, to: targets)
                case .thrown:
                    return sendToAll(payload, context: context, receipts: receipts, to: targets)
                case .announced:
                    let sent = send(payload, context: context, wantsReceipt: false, to: targets)
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
    /// - Returns: Why none has got it. If somebody waits for receipts, also why one that was given up just now will not handle it.
    func sendToAll(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        receipts: ReceiptLedger?,
        to targets: [Route]
    ) -> Forwarded {
        if targets.count == 1, receipts == nil, !targets[0].hasPolicies {
            return targets[0].send(context, name: self, payload: payload, ifThereIsRoom: false)
        }
        var reservations: [Link.Reservation] = []
        do throws(DeliveryError) {
            for target in targets { reservations.append(try target.reserve(for: payload, name: name)) }
        } catch {
            for reservation in reservations { reservation.cancel() }
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
            reservations: reservations
        )
        if receipts != nil { return sent.losses.first.map { .failed($0.error) } ?? .taken }
        // A worker that was given up between the two has lost it as it has lost all that lies in its outbox.
        for loss in sent.losses { router.announce(loss, of: name) }
        return .taken
    }

    /// Into every outbox first, then written: nobody sees an effect before its cause.
    ///
    /// - Parameters:
    ///   - origin: which does not get its own events back.
    ///   - reservations: the room that was kept at each target, or none at all.
    func send(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        except origin: Route? = nil,
        wantsReceipt: Bool,
        to targets: [Route],
        reservations: [Link.Reservation] = []
    ) -> Sent {
        // With one target there is nobody who could be overtaken.
        let isHeld = targets.count > 1
        var sent = Sent()
        var places: [Route.Place] = []
        var displaced: [(Route, Link.Displaced)] = []
        for (index, target) in targets.enumerated() where target !== origin {
            sent.isUnwanted = false
            do throws(DeliveryError) {
                let place = try target.enqueue(
                    context,
                    name: name,
                    isHeld: isHeld,
                    wantsReceipt: wantsReceipt,
                    isAccepted: origin != nil,
                    reservation: index < reservations.count ? reservations[index] : nil,
                    payload: payload
                )
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
        for place in places { place.link.release(place.sequence) }
        for place in places { place.link.flush(at: context.nanosecondsSinceEpoch) }
        for (target, event) in displaced { router.wasDisplaced(event, at: target) }
        return sent
    }

    var hasRoom: Bool { hasRoom(at: targets) }

    private func hasRoom(at targets: [Route]) -> Bool {
        for target in targets where !target.hasRoom(for: name) { return false }
        return true
    }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {
        for target in targets(of: event) { try await target.waitForRoom(for: name) }
    }

    /// Who is going to get an event; of a pool without keys, who would get it now.
    private func targets<E: DomainEvent>(of event: E) -> [Route] {
        let (wanting, pooled, coder) = entry(of: E.self)
        guard let pooled else { return wanting }
        let found = try? PayloadScratch.current.withEncoded(event, by: coder) { payload in
            pooled.targets(of: event, payload, nil)
        }
        // What cannot be encoded is refused when it is published.
        return found ?? []
    }
}
