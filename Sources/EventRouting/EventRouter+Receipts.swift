import BridgeProtocol
import BridgeTransport
import DomainEvents

/// Receipts of processes, for publishers that wait for them.
extension EventRouter {
    /// - Parameter sent: the event's outcome at the other peers; nil if the event was passed on to no peer.
    func receipt(of id: EventID, _ sent: Topic.Sent?) -> Settlement.Receipt {
        Settlement.Receipt(
            id: id,
            process: publisher.source.origin,
            passedOnTo: (sent?.reached ?? []) + (sent?.losses ?? []).map(\.peerName),
            losses: sent?.losses ?? []
        )
    }

    /// Takes a receipt that a peer sends or passes on.
    ///
    /// - Parameter id: the event, as this process knows it.
    func receiptReceived(_ receipt: Receipt, of id: EventID, over link: Link) {
        replays.receive(receipt, of: id)
        if receipts.receive(receipt, of: id) { return }
        // A publisher that no longer waits is not told, and a peer does not get its own receipt back.
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

    /// The link to the process that offered an event; nil if that process no longer runs.
    private func link(to id: EventID) -> Link? {
        peer(to: id.origin)?.link(toPeerOf: id)
    }

    /// Ends the waits of publishers for this peer's receipts: the peer sends none until it is started again.
    package func peerIsUnavailable(_ peer: Peer) {
        let reason = unavailability(of: peer, peer.closedReason ?? "it has ended")
        for id in peer.link.awaitedEvents { tell(id, .unavailable, at: peer, because: reason) }
    }

    func unavailability(of peer: Peer, _ reason: String) -> String {
        "worker \"\(peer.peerName)\" is unavailable: \(reason)"
    }

    /// Ends the waits of publishers for these events, which went to a peer that sends no receipts.
    func eventsWereUnconfirmed(_ ids: [EventID], by peer: Peer) {
        for id in ids { tell(id, .handled, at: peer, because: "") }
    }

    /// Ends the waits of operators for events that a worker has settled: it may have sent no receipts for them.
    func replaysSettled(_ events: [EventID], by peer: Peer) {
        for event in events { replays.settled(event, at: peer.peerName, .handled) }
    }

    /// Gives a waiting publisher a receipt in the name of a peer, which sends none or sends its own later.
    ///
    /// - Parameter whenDecided: given for a refusal; called only if a publisher in this process waits: now, or when its
    ///   wait has ended.
    /// - Returns: Whether a publisher in this process waited; false also if the publisher is in another process.
    @discardableResult
    func tell(
        _ id: EventID,
        _ outcome: Receipt.Outcome,
        at peer: Peer,
        because text: String,
        whenDecided: ReceiptLedger.WhenDecided? = nil
    ) -> Bool {
        let receipt = Receipt(
            id: .sender(number: id.number),
            process: peer.peerName,
            outcome: outcome.rawValue,
            text: text
        )
        replays.receive(receipt, of: id)
        if receipts.receive(receipt, of: id, whenDecided: whenDecided) { return true }
        link(to: id)?.sendReceipt(of: id, process: peer.peerName, outcome: outcome, text: text)
        return false
    }
}
