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
    private unowned let router: EventRouter

    private let lock = Lock()
    private var targets: [Route] = []
    private var receiver: (any EventReceiver)?

    /// `router` outlives its names: it owns them, and takes them out of the publisher when it stops.
    init(name: String, number: UInt64, router: EventRouter) {
        self.name = name
        self.number = number
        self.router = router
    }

    var snapshot: (targets: [Route], receiver: (any EventReceiver)?) { lock.withLock { (targets, receiver) } }

    func setTargets(_ routes: [Route]) {
        lock.withLock { targets = routes }
    }

    func setReceiver(_ receiver: any EventReceiver) {
        lock.withLock { self.receiver = receiver }
    }

    // MARK: - Out

    func forward<E: DomainEvent>(
        _ event: E,
        context: EventContext,
        announcesLoss: Bool,
        receipts: ReceiptLedger?
    ) -> DeliveryError? {
        if let refusal = router.refusal(of: name, context) {
            if announcesLoss {
                router.losses.add(event: name, id: context.id, link: "every link", reason: refusal.description)
            }
            return refusal
        }
        do {
            return try PayloadScratch.current.withEncoded(event) { payload in
                router.tap?(PassingEvent(name: name, context: context, payload: payload, sender: nil))
                if announcesLoss {
                    let sent = send(payload, context: context, wantsReceipt: false)
                    for loss in sent.losses { router.announce(loss, of: name) }
                    return sent.losses.first?.error
                }
                return sendToAll(payload, context: context, receipts: receipts)
            }
        } catch {
            let failure = DeliveryError(.notEncodable, "\(name) cannot be encoded: \(error)")
            if announcesLoss {
                router.losses.add(event: name, id: context.id, link: "every link", reason: failure.description)
            }
            return failure
        }
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
        receipts: ReceiptLedger?
    ) -> DeliveryError? {
        let targets = lock.withLock { self.targets }
        var reservations: [Link.Reservation] = []
        do throws(DeliveryError) {
            for target in targets { reservations.append(try target.reserve(for: payload, name: name)) }
        } catch {
            for reservation in reservations { reservation.cancel() }
            return error
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
        if receipts != nil { return sent.losses.first?.error }
        // A worker that was given up between the two has lost it as it has lost all that lies in its outbox.
        for loss in sent.losses { router.announce(loss, of: name) }
        return nil
    }

    /// Into every outbox, as far as there is room.
    ///
    /// - Parameter origin: which does not get its own events back.
    func send(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        except origin: Route? = nil,
        wantsReceipt: Bool
    ) -> Sent {
        let targets = lock.withLock { self.targets }
        return send(payload, context: context, except: origin, wantsReceipt: wantsReceipt, to: targets)
    }

    /// Into every outbox first, then written: nobody sees an effect before its cause.
    ///
    /// - Parameter reservations: the room that was kept at each target, or none at all.
    private func send(
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

    var hasRoom: Bool { lock.withLock { targets }.allSatisfy { $0.hasRoom(for: name) } }

    func waitForRoom() async throws {
        for target in lock.withLock({ targets }) { try await target.waitForRoom(for: name) }
    }

    /// Whether another route than this one wants the events.
    func isWanted(otherThan route: Route) -> Bool {
        lock.withLock { targets.contains { $0 !== route } }
    }

    // MARK: - In

    func deliverHere(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        lane: (any InlineLane)?,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> LocalOutcome {
        guard let receiver = lock.withLock({ receiver }) else { return .unwanted }
        return receiver.receive(payload, context: context, lane: lane, completion: completion)
    }
}
