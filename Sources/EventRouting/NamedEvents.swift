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

    func forward<E: DomainEvent>(_ event: E, context: EventContext, announcesLoss: Bool) -> DeliveryError? {
        do {
            return try PayloadScratch.current.withEncoded(event) { payload in
                router.tap?(PassingEvent(name: name, context: context, payload: payload, sender: nil))
                return send(payload, context: context, except: nil, announcesLoss: announcesLoss)
            }
        } catch {
            let failure = DeliveryError(.notEncodable, "\(name) cannot be encoded: \(error)")
            if announcesLoss { router.losses.add(event: name, link: "every link", reason: failure.description) }
            return failure
        }
    }

    /// Into every outbox first, then written: nobody sees an effect before its cause.
    func send(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        except origin: Route?,
        announcesLoss: Bool
    ) -> DeliveryError? {
        let targets = lock.withLock { self.targets }
        // With one target there is nobody who could be overtaken.
        let isHeld = targets.count > 1
        var places: [Route.Place] = []
        var failure: DeliveryError?
        for target in targets where target !== origin {
            do throws(DeliveryError) {
                let place = try target.enqueue(context, name: name, isHeld: isHeld, payload: payload)
                if isHeld {
                    places.append(place)
                } else {
                    place.link.flush(at: context.nanosecondsSinceEpoch)
                }
            } catch {
                failure = failure ?? error
                if announcesLoss { router.losses.add(event: name, link: target.peerName, reason: error.description) }
            }
        }
        for place in places { place.link.release(place.sequence) }
        for place in places { place.link.flush(at: context.nanosecondsSinceEpoch) }
        return failure
    }

    var hasRoom: Bool { lock.withLock { targets }.allSatisfy(\.hasRoom) }

    func waitForRoom() async throws {
        for target in lock.withLock({ targets }) { try await target.waitForRoom() }
    }

    /// Whether another route than this one wants the events.
    func isWanted(otherThan route: Route) -> Bool {
        lock.withLock { targets.contains { $0 !== route } }
    }

    // MARK: - In

    func deliverHere(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        completion: () -> any HandlingCompletion
    ) -> LocalOutcome {
        guard let receiver = lock.withLock({ receiver }) else { return .unwanted }
        return receiver.receive(payload, context: context, completion: completion)
    }
}
