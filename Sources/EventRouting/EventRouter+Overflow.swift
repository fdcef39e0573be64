import BridgeProtocol
import BridgeTransport
import DomainEvents

/// Events that overflow policies drop, here and at the peers.
extension EventRouter {
    /// Reports an event that a policy has taken out on its way to a peer.
    func wasEvicted(_ event: Evicted, at peer: Peer) {
        if event.isOwed { settled(event.context.id, at: peer) }
        let reason =
            event.isCoalesced
            ? "a later event took its place on the way to \(peer.peerName)"
            : "its overflow policy acted, as the outbox to \(peer.peerName) was full"
        if event.wantsReceipt {
            tell(event.context.id, .dropped, at: peer, because: "\(event.name) was dropped: \(reason)")
        }
        if event.isCoalesced { return }
        losses.add(event: event.name, id: event.context.id, link: peer.peerName, reason: reason)
    }

    /// Takes a peer's report of missing events, and passes it on to all receivers that could have got the events.
    func gapReceived(_ frame: GapFrame, from peer: Peer, over link: Link) throws {
        let topic: Topic?
        let name: String
        switch frame.name {
        case .text(let text):
            topic = try names.topic(of: text, broughtBy: peer)
            name = text
            if let topic { ensureTargets(of: topic) }
        case .number(let number):
            guard let known = named(number) else {
                throw LinkViolation("gap \(frame.sequence) has name number \(number), which this side did not give out")
            }
            topic = known
            name = known.name
        }
        guard let gap = link.gap(frame, named: name) else { return }
        // A receiver does not miss an event that the peer may not send.
        if let topic, topic.scope != .open, topic.scope.refusal(of: name, from: peer) != nil { return }
        gapTap?(gap)
        let fanout = topic?.fanout
        for target in topic?.targets ?? [] where target !== peer {
            // If the members of a pool share the events, the other members may not have got this member's events.
            if let pool = target.pool, pool === peer.pool, fanout?.pooled?.mayGet(target, from: peer) == false {
                continue
            }
            target.note(gap)
        }
        for target in fanout?.attached ?? [] where target !== peer { target.note(gap) }
        publisher.channel(named: name)?.eventsWereMissed(gap.count.clamped(to: 0...Int.max))
    }
}
