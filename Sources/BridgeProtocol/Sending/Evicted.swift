package import DomainEvents

/// An event that a policy has taken out of the queue before an outbox, or has not let in.
package struct Evicted: Sendable {
    package let name: String
    package let context: EventContext
    package let wantsReceipt: Bool
    /// Whether a journal has to hear that the event does not reach the peer.
    package let isOwed: Bool
    /// Whether a later event has replaced the event; a replaced event is not announced and leaves no gap.
    package let isCoalesced: Bool

    init(_ event: OverflowQueue.Waiting, isCoalesced: Bool) {
        name = event.name
        context = event.context
        wantsReceipt = event.wantsReceipt
        isOwed = event.isOwed
        self.isCoalesced = isCoalesced
    }
}
