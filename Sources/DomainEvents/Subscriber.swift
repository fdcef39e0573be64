/// One handler of one event type, behind its gate.
@usableFromInline
package class AnySubscriber: @unchecked Sendable {
    // Sendable: the gate is; subclasses add constants, or guard what they add with their own lock.
    @usableFromInline let gate = CallGate()

    /// Whatever the kind of subscriber still holds is let go.
    func discardWaiting() {}

    /// Nothing more will come.
    func publisherWasReleased() {}
}

/// A handler that runs on the publishing thread.
@usableFromInline
final class InlineSubscriber<E: DomainEvent>: AnySubscriber, @unchecked Sendable {
    // Sendable: adds one constant that is itself Sendable.
    @usableFromInline let handler: @Sendable (E) throws -> Void

    init(_ handler: @escaping @Sendable (E) throws -> Void) {
        self.handler = handler
    }
}

/// A handler that runs elsewhere: on a queue, in a task, or as the consumer of a sequence.
@usableFromInline
class DeferredSubscriber<E: DomainEvent>: AnySubscriber, @unchecked Sendable {
    // Sendable: subclasses guard what they add with their own lock.

    /// Takes the event over, and calls `tracker` when done with it.
    ///
    /// Never waits for the handler.
    func receive(_ event: E, context: EventContext, tracker: IncomingTracker?) {}
}
