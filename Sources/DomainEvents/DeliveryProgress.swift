/// How far an event has got, for a publisher that waits for receipts.
package struct DeliveryProgress: Sendable, Hashable {
    /// The other processes that have handled the event, sorted by name.
    package let handled: [String]
    /// The other processes whose receipts are missing, sorted by name.
    package let unheard: [String]

    package init(handled: [String], unheard: [String]) {
        (self.handled, self.unheard) = (handled, unheard)
    }
}
