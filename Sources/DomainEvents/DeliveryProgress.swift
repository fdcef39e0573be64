/// How far an event has got, for a publisher that waits for receipts.
package struct DeliveryProgress: Sendable, Hashable {
    /// The other processes that have handled the event, sorted by name.
    package let handled: [String]
    /// The other processes that got the event and have not sent a receipt yet, sorted by name.
    package let unheard: [String]

    package init(handled: [String], unheard: [String]) {
        (self.handled, self.unheard) = (handled, unheard)
    }
}
