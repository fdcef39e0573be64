/// Carries events of a publisher to other processes: the seam between the publisher and a bridge.
///
/// Everything here is called without any lock held.
@usableFromInline
package protocol EventForwarder: AnyObject, Sendable {
    /// Puts the event into every outbox that wants it, then writes what can be written. Never waits.
    ///
    /// - Parameters:
    ///   - intake: what becomes of the event if some outbox has no room for it.
    ///   - receipts: the ledger that waits for what all processes say of the event; it is told which processes get the
    ///     event, and then what they say.
    ///   - held: nil if the event is to leave at once. Otherwise the caller is given it here, and it stays in the
    ///     outboxes until the caller lets it leave: at once, as nothing behind it leaves either.
    func forward<E: DomainEvent>(
        _ event: E,
        context: EventContext,
        intake: Intake,
        receipts: ReceiptLedger?,
        held: inout [any HeldEvent]?
    ) -> Forwarded

    /// Whether every outbox that wants the events has room below its limit.
    var hasRoom: Bool { get }

    /// Returns when every outbox that this event goes to has room, or throws why there will be none.
    func waitForRoom<E: DomainEvent>(for event: E) async throws
}

/// An event that lies in outboxes and does not leave them yet.
@usableFromInline
package protocol HeldEvent {
    /// Lets it leave with whatever is written next.
    mutating func release()

    /// Has it written, and sees to what could not be taken: once, behind ``release()``.
    func flush()
}

/// What becomes of an event for which some outbox has no room.
@usableFromInline
package enum Intake: Sendable {
    /// It is taken up to the hard limit. Beyond that the peers that have room get it, and the loss is announced, as
    /// nothing else reports it.
    case announced
    /// It is taken up to the hard limit. Beyond that no subscriber gets it, and the caller is told.
    case thrown
    /// Where the caller is to wait for room, no subscriber gets it.
    case awaited
}

/// What became of an event that was to go to other processes.
@usableFromInline
package enum Forwarded: Sendable {
    /// It lies in every outbox that wants it.
    case taken
    /// Why some outbox did not take it.
    case failed(DeliveryError)
    /// No subscriber has got it, as the caller is to wait for room.
    case awaitsRoom

    package var isTaken: Bool { if case .taken = self { true } else { false } }

    /// The first of two that went wrong.
    func or(_ other: Forwarded) -> Forwarded {
        if case .taken = self { other } else { self }
    }
}

/// Learns which event names a publisher's own subscribers want.
package protocol InterestObserver: AnyObject, Sendable {
    /// Whether `name` has subscribers may have changed; the observer asks ``EventPublisher/isWanted(_:)``.
    ///
    /// Level-triggered on purpose: calls of two threads may overtake each other.
    func interestMayHaveChanged(in name: String)

    /// Whether it carries events to other processes for as long as it observes.
    var isBridge: Bool { get }

    /// An event type was used for the first time; called before anything of it is published.
    func channelWasMade(_ channel: AnyEventChannel)
}

/// Sees the events of every type that a publisher publishes.
package protocol EventObserver: Sendable {
    /// Called on the publishing thread, before the handlers.
    func observe<E: DomainEvent>(_ event: E)
}

/// Marks the events in which publisher and bridge report about themselves: they cross a link only if asked for by name.
package protocol SelfReport: DomainEvent {}

/// What became of an event that came from another process.
package enum IncomingOutcome {
    /// Every handler has returned.
    case handled(handlers: Int)
    /// Nothing here subscribes to it.
    case unwanted
    /// A handler threw.
    case failed(ThrownError)
    /// Handlers on queues or in tasks are still at it; the completion will be called.
    case pending
}

/// Learns that the last handler of an awaited event has returned.
package protocol HandlingCompletion: AnyObject, Sendable {
    /// Called once, on whatever thread the last handler returned.
    func handlersReturned(failure: ThrownError?)
}
