import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// Peers that have attached: they get what they want as far as they keep up, and nobody ever waits for them or hears of
/// what they missed.
extension Route {
    /// Puts an event into the outbox of a peer that nobody waits for; what it does not take is a gap to it.
    func offer(
        _ context: EventContext,
        name: String,
        number: UInt64,
        isHeld: Bool,
        payload: UnsafeRawBufferPointer
    ) -> Place? {
        let link = self.link
        // A policy's work is told to the peer alone, by the link.
        var displaced: [Displaced] = []
        let outcome = link.enqueue(
            context,
            name: name,
            number: number,
            isHeld: isHeld,
            payload: payload,
            displaced: &displaced
        )
        switch outcome {
        case .accepted(let sequence, _):
            return Place(link: link, sequence: sequence, isCrowded: false, displaced: [])
        case .full, .tooLarge:
            link.note(Gap(context.id, name: name, reason: .full))
            return nil
        case .ended, .finished, .dropped, .crowded, .left:
            return nil
        }
    }
}

extension EventRouter {
    /// Forgets a peer that has gone, and what it wanted.
    package func remove(_ route: Route) {
        withRoutes { $0.removeAll { $0 === route } }
        updateTargets()
    }

    /// The names that the peer has asked for, but for ``EventName/everything``.
    package func namesAsked(by route: Route) -> [String] {
        lock.withLock { (route.interest.present?.asked ?? []).filter { $0 != EventName.everything }.map(\.text) }
            .sorted()
    }

    /// The names of all events that somebody subscribes to in this process.
    package var namesWantedHere: [String] { allNames.filter { publisher.isWanted($0) } }
}
