import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// Peers that have attached: they get the events that they want as far as they keep up; no process waits for them or
/// learns of what they missed.
extension Route {
    /// Puts an event into the outbox of an attached peer; if the outbox does not take it, the peer gets a gap.
    func offer(
        _ context: EventContext,
        name: String,
        number: UInt64,
        isHeld: Bool,
        payload: UnsafeRawBufferPointer
    ) -> Place? {
        let link = self.link
        // The link tells the peer what a policy drops; no other process is told.
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
    /// Forgets a peer that has gone, with its wishes.
    package func remove(_ route: Route) {
        withRoutes { $0.removeAll { $0 === route } }
        updateTargets()
    }

    /// The names that the peer has asked for, without ``EventName/everything``.
    package func namesAsked(by route: Route) -> [String] {
        lock.withLock { (route.interest.present?.asked ?? []).filter { $0 != EventName.everything }.map(\.text) }
            .sorted()
    }

    /// The names of all events that have a subscriber in this process.
    package var namesWantedHere: [String] { allNames.filter { publisher.isWanted($0) } }

    /// The names that pass between all peers and are wanted, each with the names of its receivers.
    ///
    /// The receivers are this process, peers, pools in the place of their members, and attached peers that have asked
    /// for the name itself.
    package var wishes: [(name: String, peers: [String])] {
        let entries = names.all.filter { $0.passage == .open }
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
