/// How far an event has got, for a publisher that waits for receipts.
package struct DeliveryProgress: Sendable, Hashable {
    /// The other processes that have handled it, in order.
    package let handled: [String]
    /// The other processes that got it and have not sent a receipt yet, in order.
    package let unheard: [String]

    package init(handled: [String], unheard: [String]) {
        (self.handled, self.unheard) = (handled, unheard)
    }
}
