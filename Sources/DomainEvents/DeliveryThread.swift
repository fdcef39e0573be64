public import Locks

/// What the calling thread is delivering: the event in hand, and what its handlers published meanwhile.
///
/// One object a thread, reached through thread-specific storage; no other thread ever touches it.
@usableFromInline
package final class DeliveryThread {
    // These three are only ever read or set whole, on the one thread: there is nothing for the exclusivity check, which costs
    // as much as the rest of a delivery's set-up, to find.
    @exclusivity(unchecked) @usableFromInline package var isDelivering = false

    /// Who resolves the context of the event in hand if a handler asks; valid only while delivering.
    @exclusivity(unchecked) @usableFromInline var publisher: Unmanaged<EventPublisher>?
    @exclusivity(unchecked) @usableFromInline var context: EventContext?

    /// Deliveries of events that handlers published: they run when the event in hand has reached all its subscribers.
    private var deferred: [() -> Void] = []
    /// Empty memory for the next round of `deferred`.
    private var spare: [() -> Void] = []

    @usableFromInline static let slot = ThreadSpecific<DeliveryThread>()

    @inlinable
    package static var current: DeliveryThread {
        if let existing = slot.value { return existing }
        return makeCurrent()
    }

    @usableFromInline
    static func makeCurrent() -> DeliveryThread {
        let thread = DeliveryThread()
        slot.value = thread
        return thread
    }

    /// The context of the event in hand, made now if no handler has asked for it yet.
    package func resolvedContext() -> EventContext? {
        if let context { return context }
        guard let publisher else { return nil }
        let made = publisher.takeUnretainedValue().makeContext(causedBy: EventContext.handledByTask)
        context = made
        return made
    }

    @usableFromInline
    func deferDelivery(_ delivery: @escaping () -> Void) {
        deferred.append(delivery)
    }

    /// Runs what handlers published, and what the handlers of that published, first in, first out.
    @inlinable
    func finish() {
        if hasDeferred { runDeferred() }
        isDelivering = false
        publisher = nil
        if context != nil { context = nil }
    }

    @usableFromInline var hasDeferred: Bool { !deferred.isEmpty }

    @usableFromInline
    func runDeferred() {
        var round = spare
        spare = []
        repeat {
            swap(&round, &deferred)
            for delivery in round { delivery() }
            // Not in place: releasing a delivery may run a deinit that publishes, and so adds to `deferred`.
            round.removeAll(keepingCapacity: round.capacity <= 1024)
        } while !deferred.isEmpty
        spare = round
    }

    /// Runs a handler outside any publishing call, on a queue or a task: with its event's context, and with what it publishes
    /// delivered after it has returned.
    ///
    /// Nested in another delivery (a queue that runs its block on the publishing thread), it leaves that one's state as it was.
    func run<Failure: Error>(context: EventContext, _ body: () throws(Failure) -> Void) throws(Failure) {
        let outer = (isDelivering, publisher, self.context)
        isDelivering = true
        publisher = nil
        self.context = context
        defer {
            if outer.0 {
                (isDelivering, publisher, self.context) = outer
            } else {
                finish()
            }
        }
        try body()
    }
}
