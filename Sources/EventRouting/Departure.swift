import BridgeProtocol
import BridgeTransport
import DomainEvents

/// An event on its way out: its places in outboxes, and the work that remains after its release.
struct Departure: HeldEvent {
    let name: String
    let context: EventContext
    let router: EventRouter
    /// The places in outboxes that keep the event until it is released.
    var places: [Peer.Place] = []
    /// The receivers that the event is owed to, if it is recorded.
    var owed: [OwedReceiver] = []
    /// The events that overflow policies have taken out to make room for this event.
    var evicted: [(peer: Peer, event: Evicted)] = []
    /// The peers that have not taken the event.
    var losses: [Topic.Loss] = []
    /// The ledger of a publisher that waits, which gets the first loss as its error; nil if no publisher waits.
    ///
    /// Every other loss is announced, unless it is kept as a dead letter.
    var receipts: ReceiptLedger?
    /// Whether one of the links is busy.
    private var isGathered = false

    init(of name: String, _ context: EventContext, by router: EventRouter) {
        self.name = name
        self.context = context
        self.router = router
    }

    mutating func release() {
        let now = context.nanosecondsSinceEpoch
        // A thread that writes to many links in turn comes back to the first one long after its last write there. So if
        // one link is busy, all count as busy.
        for place in places where place.link.release(place.sequence, at: now) { isGathered = true }
    }

    func flush() {
        for place in places { place.link.flush(at: context.nanosecondsSinceEpoch, isGathered: isGathered) }
        for (peer, event) in evicted { router.wasEvicted(event, at: peer) }
        // The report of a dead letter names the event, so the report comes after the event.
        for (index, loss) in losses.enumerated() {
            if router.keeps(loss) { continue }
            guard index == 0, let receipts else {
                router.announce(loss, of: name)
                continue
            }
            receipts.lost(loss.error.identified(by: context.id)) { [router, name] isClaimed in
                if !isClaimed { router.announce(loss, of: name) }
            }
        }
    }
}
