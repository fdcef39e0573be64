/// One handler of one event type, behind its gate.
@usableFromInline
package class AnySubscriber: @unchecked Sendable {
    // Sendable: the gate is Sendable; subclasses add constants, or guard their own state with their own lock.
    @usableFromInline let gate: CallGate
    /// The gate of the subscription with which this subscriber ends: its own, unless the subscription has another one.
    let owner: CallGate
    let site: SubscriptionSite

    init(site: SubscriptionSite, gate: CallGate = CallGate(), owner: CallGate? = nil) {
        self.gate = gate
        self.owner = owner ?? gate
        self.site = site
    }

    /// Drops the events that still wait; called after the gate was closed.
    func discardWaiting() {}

    /// Called when the publisher is released: no further event will come.
    func publisherWasReleased() {}
}

/// A handler that runs on the publishing thread.
@usableFromInline
final class InlineSubscriber<E: DomainEvent>: AnySubscriber, @unchecked Sendable {
    // Sendable: adds one constant, which is Sendable.
    @usableFromInline let handler: @Sendable (E) throws -> Void

    /// - Parameter owner: the gate of the subscription with which the subscriber ends, if that is not its own.
    init(site: SubscriptionSite, owner: CallGate? = nil, _ handler: @escaping @Sendable (E) throws -> Void) {
        self.handler = handler
        super.init(site: site, owner: owner)
    }
}
