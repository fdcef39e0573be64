import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// Peers that have attached: they get the events that they want as far as they keep up; no other process waits for them
/// or learns of what they missed.
extension Peer {
    /// Puts an event into the outbox of an attached peer; if it finds no room or is too large, the peer gets a gap.
    func offer(
        _ context: EventContext,
        name: String,
        number: UInt64,
        isHeld: Bool,
        payload: UnsafeRawBufferPointer
    ) -> Place? {
        let link = self.link
        // The link tells the peer what a policy drops; no other process is told.
        var evicted: [Evicted] = []
        let outcome = link.enqueue(
            context,
            name: name,
            number: number,
            isHeld: isHeld,
            payload: payload,
            evicted: &evicted
        )
        switch outcome {
        case .accepted(let sequence, _):
            return Place(link: link, sequence: sequence, isCrowded: false, evicted: [])
        case .full, .tooLarge:
            link.note(Gap(context.id, name: name, reason: .full))
            return nil
        case .ended, .finished, .dropped, .crowded, .left:
            return nil
        }
    }
}

extension EventRouter {
    /// Forgets a peer that has gone, and the names that it wanted.
    package func remove(_ peer: Peer) {
        withPeers { $0.removeAll { $0 === peer } }
        updateTargets()
    }

    /// The names that the peer has asked for, without ``EventName/everything``.
    package func namesAsked(by peer: Peer) -> [String] {
        lock.withLock { (peer.interest.present?.asked ?? []).filter { $0 != EventName.everything }.map(\.text) }
            .sorted()
    }

    /// The names of all events that have a subscriber in this process.
    package var namesWantedHere: [String] { allNames.filter { publisher.isWanted($0) } }

    /// The wanted names whose events may pass between all processes, each with the names of its receivers.
    ///
    /// The receivers are this process, peers, pools in the place of their members, and attached peers that have asked
    /// for the name itself.
    package var wishes: [(name: String, peers: [String])] {
        let topics = names.all.filter { $0.scope == .open }
        let own = topics.map { publisher.isWanted($0.name) }
        return lock.withLock {
            zip(topics, own).compactMap { topic, isWantedHere in
                let fanout = topic.fanout
                let name = EventName(topic.name)
                let attached = fanout.attached.filter { $0.interest.present?.asked.contains(name) == true }
                var peers = isWantedHere ? [publisher.source.origin] : []
                for peer in fanout.targets + attached {
                    let receiver = peer.pool?.name ?? peer.peerName
                    if peers.last != receiver { peers.append(receiver) }
                }
                return peers.isEmpty ? nil : (topic.name, peers)
            }
        }
    }
}
