import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// Peers that have attached: they get what they want as far as they keep up, nothing ever waits for them, and no other
/// process hears of what they missed.
extension Route {
    /// Puts an event into the outbox of a peer that nothing waits for; what the peer does not take is a gap to it.
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

    /// The names of all events that have a subscriber in this process.
    package var namesWantedHere: [String] { allNames.filter { publisher.isWanted($0) } }

    /// Who wants the events of each name that passes between all, for the names that are wanted: the peers by their
    /// names, a pool for its members, those who have attached if they have asked for the name itself, and this process.
    package var wishes: [(name: String, peers: [String])] {
        let entries = tableLock.withLock { namesByNumber }.filter { $0.passage == .open }
        let own = entries.map { publisher.isWanted($0.name) }
        return lock.withLock {
            zip(entries, own).compactMap { entry, isWantedHere in
                let fanout = entry.fanout
                let name = EventName(entry.name)
                let attached = fanout.attached.filter { $0.interest.present?.asked.contains(name) == true }
                var peers = isWantedHere ? [publisher.source.origin] : []
                for route in fanout.targets + attached {
                    let peer = route.pool?.name ?? route.peerName
                    if peers.last != peer { peers.append(peer) }
                }
                return peers.isEmpty ? nil : (entry.name, peers)
            }
        }
    }
}
