/// Carries events of a publisher to other processes: the seam between the publisher and a bridge.
///
/// Everything here is called without any lock held.
@usableFromInline
package protocol EventForwarder: AnyObject, Sendable {
    /// Puts the event into every outbox that wants it, then writes what can be written. Never waits.
    ///
    /// - Parameters:
    ///   - announcesLoss: whether an event that some outbox cannot take is announced, as nobody else will say so.
    ///   - receipts: somebody who waits for what all processes say of the event; it is told who gets it, and then what they say.
    /// - Returns: Why some outbox did not take the event; nil if all did.
    func forward<E: DomainEvent>(
        _ event: E,
        context: EventContext,
        announcesLoss: Bool,
        receipts: ReceiptLedger?
    ) -> DeliveryError?

    /// Whether every outbox that wants the events has room below its limit.
    var hasRoom: Bool { get }

    /// Returns when every outbox that wants the events has room, or throws why there will be none.
    func waitForRoom() async throws
}

/// Learns which event names a publisher's own subscribers want.
package protocol InterestObserver: AnyObject, Sendable {
    /// Whether somebody subscribes to `name` may have changed; the observer asks ``EventPublisher/isWanted(_:)``.
    ///
    /// Level-triggered on purpose: calls of two threads may overtake each other.
    func interestMayHaveChanged(in name: String)

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
    /// Nobody here subscribes.
    case unwanted
    /// A handler threw.
    case failed(any Error)
    /// Handlers on queues or in tasks are still at it; the completion will be called.
    case pending
}

/// Learns that the last of an event that somebody waits for's handlers has returned.
package protocol HandlingCompletion: AnyObject, Sendable {
    /// Called once, on whatever thread the last handler returned.
    func handlersReturned(failure: (any Error)?)
}
