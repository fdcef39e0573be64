package import BridgeProtocol
package import BridgeTransport
package import DomainEvents

/// What processes say of events whose publishers wait to hear it.
extension EventRouter {
    /// - Parameter sent: nil if the event was passed on to no peer.
    func receipt(of id: EventID, _ sent: NamedEvents.Sent?) -> Settlement.Receipt {
        Settlement.Receipt(
            id: id,
            process: publisher.source.origin,
            passedOnTo: (sent?.reached ?? []) + (sent?.losses ?? []).map(\.peerName),
            losses: sent?.losses ?? []
        )
    }

    /// A peer tells what became of an event there, or passes on what others tell.
    package func receiptReceived(_ receipt: Receipt, over link: Link) {
        guard let id = link.eventID(of: receipt.id) else { return }
        if receipts.receive(receipt, of: id) { return }
        // A publisher that does not wait any more is not told, nor is a peer what it says itself.
        guard let publisher = self.link(to: id), publisher !== link else { return }
        publisher.sendReceipt(
            of: id,
            process: receipt.process,
            outcome: Receipt.Outcome(rawValue: receipt.outcome) ?? .refused,
            handlers: receipt.handlers.clamped(to: 0...Int(UInt32.max)),
            text: receipt.text,
            passedOnTo: receipt.passedOnTo
        )
    }

    /// The link to the process that has offered an event, if that still runs.
    private func link(to id: EventID) -> Link? {
        route(to: id.origin)?.link(toPeerOf: id)
    }

    /// Nothing is heard of the peer until it is started anew: publishers that wait for what it says of an event wait no
    /// longer.
    package func peerIsUnavailable(_ route: Route) {
        let reason = "worker \"\(route.peerName)\" is unavailable: \(route.closedReason ?? "it has ended")"
        for id in route.link.awaitedEvents { tell(id, .unavailable, at: route, because: reason) }
    }

    /// These events were sent to a peer that does not say what becomes of them: publishers wait for that no longer.
    package func eventsWereUnconfirmed(_ ids: [EventID], by route: Route) {
        for id in ids { tell(id, .handled, at: route, because: "") }
    }

    /// Tells a publisher that waits to hear of an event what a peer will not say of it any more.
    ///
    /// - Returns: Whether a publisher in this process waited. Of another process it is not known.
    @discardableResult
    func tell(_ id: EventID, _ outcome: Receipt.Outcome, at route: Route, because text: String) -> Bool {
        let receipt = Receipt(
            id: .sender(number: id.number),
            process: route.peerName,
            outcome: outcome.rawValue,
            text: text
        )
        if receipts.receive(receipt, of: id) { return true }
        link(to: id)?.sendReceipt(of: id, process: route.peerName, outcome: outcome, text: text)
        return false
    }
}
