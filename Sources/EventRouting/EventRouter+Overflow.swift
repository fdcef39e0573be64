package import BridgeProtocol
package import BridgeTransport
import DomainEvents

/// Events that overflow policies drop, here and at the peers.
extension EventRouter {
    /// Reports an event that a policy has taken out on its way to a peer.
    func wasDisplaced(_ event: Displaced, at route: Route) {
        let reason =
            event.isCoalesced
            ? "a later event took its place on the way to \(route.peerName)"
            : "its overflow policy acted, as the outbox to \(route.peerName) was full"
        if event.wantsReceipt {
            tell(event.context.id, .dropped, at: route, because: "\(event.name) was dropped: \(reason)")
        }
        if event.isCoalesced { return }
        losses.add(event: event.name, id: event.context.id, link: route.peerName, reason: reason)
    }

    /// Takes a peer's report of missing events; passes it on to all peers that would have got the events.
    package func gapReceived(_ frame: GapFrame, from route: Route, over link: Link) throws {
        let name: String
        switch frame.name {
        case .text(let text):
            name = text
            if let entry = try names.entry(of: name, broughtBy: route) { ensureTargets(of: entry) }
        case .number(let number):
            guard let known = named(number)?.name else {
                throw LinkViolation("gap \(frame.sequence) has name number \(number), which nobody gave out")
            }
            name = known
        }
        guard let gap = link.gap(frame, named: name) else { return }
        gapTap?(gap)
        let isSelfReport = isSelfReport(name)
        for target in named(name)?.targets ?? [] where target !== route {
            // The other members of a pool do not get a member's events of a name that they share.
            if let pool = target.pool, pool === route.pool,
                target.pool(sharing: name, isSelfReport: isSelfReport) != nil
            {
                continue
            }
            target.link.note(gap)
        }
        for target in named(name)?.fanout.attached ?? [] where target !== route { target.link.note(gap) }
        publisher.channel(named: name)?.eventsWereMissed(gap.count.clamped(to: 0...Int.max))
    }
}
