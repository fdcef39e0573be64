/// One handler of one event type, behind its gate.
@usableFromInline
package class AnySubscriber: @unchecked Sendable {
    // Sendable: the gate is; subclasses add constants, or guard what they add with their own lock.
    @usableFromInline let gate: CallGate
    let site: SubscriptionSite

    init(site: SubscriptionSite, gate: CallGate = CallGate()) {
        self.gate = gate
        self.site = site
    }

    /// Lets go of whatever it still holds: its gate was closed.
    func discardWaiting() {}

    /// Nothing more will come.
    func publisherWasReleased() {}
}

/// A handler that runs on the publishing thread.
@usableFromInline
final class InlineSubscriber<E: DomainEvent>: AnySubscriber, @unchecked Sendable {
    // Sendable: adds one constant that is itself Sendable.
    @usableFromInline let handler: @Sendable (E) throws -> Void

    init(site: SubscriptionSite, _ handler: @escaping @Sendable (E) throws -> Void) {
        self.handler = handler
        super.init(site: site)
    }
}
