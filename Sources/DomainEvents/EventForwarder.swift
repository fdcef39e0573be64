/// Carries a publisher's events of one name to other processes; the interface between a publisher and a bridge.
///
/// The publisher calls all members but `isWantedElsewhere` without any lock held.
@usableFromInline
package protocol EventForwarder: AnyObject, Sendable {
    /// Puts the event into every outbox that wants it, and writes what it can unless the event is held; never waits.
    ///
    /// - Parameters:
    ///   - ifFull: what becomes of the event if some outbox has no room for it.
    ///   - receipts: the ledger that waits for the receipts of all processes; it learns which processes get the event,
    ///     and then their receipts.
    ///   - held: nil if the event has to leave at once. Otherwise the forwarder adds the held event here, and it stays
    ///     in the outboxes until the caller releases it. Later events wait behind it, so the caller releases it soon.
    ///     With ``HeldEvents/keepsRoomFirst`` the forwarder only keeps room, which the caller uses or gives back.
    func forward<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout HeldEvents?
    ) -> Forwarded

    /// Holds an event in the only outbox that wants it, has a journal record it meanwhile, and then writes it.
    ///
    /// Only for an event whose only other receiver is a journal.
    ///
    /// - Parameters:
    ///   - makeRoom: called with the payload's length before the outbox holds the event; may wait for a disk.
    ///   - record: records the payload with the receivers that the event is owed to; called at most once, without any
    ///     lock held.
    /// - Returns: What became of the event; nil, and nothing was done, if the event cannot go this short way (several
    ///   outboxes want it, for example). Then the caller uses ``forward(_:context:ifFull:receipts:held:)``.
    func forwardRecorded<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        makeRoom: (_ payloadBytes: Int) -> Void,
        record: (_ payload: UnsafeRawBufferPointer, _ owed: [OwedReceiver]) -> Void
    ) -> Forwarded?

    /// Whether every outbox that wants the events, except attached clients' outboxes, has room below its limit.
    var hasRoom: Bool { get }

    /// Returns when every outbox that this event goes to has room; throws the reason if no room will come.
    func waitForRoom<E: DomainEvent>(for event: E) async throws

    /// Whether another process wants the events.
    var isWantedElsewhere: Bool { get }
}

extension EventForwarder {
    package func forwardRecorded<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        makeRoom: (_ payloadBytes: Int) -> Void,
        record: (_ payload: UnsafeRawBufferPointer, _ owed: [OwedReceiver]) -> Void
    ) -> Forwarded? { nil }
}

/// An event that lies in outboxes and does not leave them yet.
@usableFromInline
package protocol HeldEvent {
    /// Lets the event leave with the next write.
    mutating func release()

    /// Writes the event, and deals with outboxes that did not take it; called once, after ``release()``.
    func flush()

    /// The receivers that the event is owed to, if it is recorded.
    var owed: [OwedReceiver] { get }
}

/// What becomes of an event if some outbox has no room for it.
@usableFromInline
package enum FullOutboxAction: Sendable {
    /// Outboxes take the event up to the hard limit; beyond that only the peers with room get it. The bridge announces
    /// the loss, because the caller gets no error.
    case drop
    /// Outboxes take the event up to the hard limit. If room cannot be kept in each of them, no subscriber here and no
    /// peer gets the event, and the caller gets the error.
    case fail
    /// If some outbox has no room, or other callers wait for that room, no subscriber gets the event: the caller waits
    /// for room first.
    case wait
    /// Like `wait`, for a caller that has waited for its turn: it does not matter whether other callers wait. If
    /// several outboxes want the event, they take it up to the hard limit, as they may never all be below their limits
    /// at once.
    case turn
}

/// What became of an event for other processes.
@usableFromInline
package enum Forwarded: Sendable {
    /// The event lies in every outbox that wants it, unless the outbox's policy has dropped it.
    case taken
    /// Some outbox did not take the event, for this reason.
    case failed(DeliveryError)
    /// No subscriber has got the event: the caller has to wait for room.
    case awaitsRoom

    package var isTaken: Bool { if case .taken = self { true } else { false } }

    package var awaitsRoom: Bool { if case .awaitsRoom = self { true } else { false } }

    /// The first of the two outcomes that is not `taken`; `taken` if both are.
    func or(_ other: Forwarded) -> Forwarded {
        if case .taken = self { other } else { self }
    }
}

/// Learns which event names a publisher's own subscribers want.
package protocol InterestObserver: AnyObject, Sendable {
    /// Called when `name` may have got its first subscriber or lost its last; the observer asks
    /// ``EventPublisher/isWanted(_:)``.
    ///
    /// The call does not say which of the two happened, because calls of two threads may overtake each other.
    func interestMayHaveChanged(in name: String)

    /// Whether the observer carries events to other processes for as long as it observes.
    var isBridge: Bool { get }

    /// Called when a name is first used, before its first event, and for each known name when the observer is added.
    func channelWasMade(_ channel: AnyEventChannel)
}

/// Sees the events of every type that a publisher publishes.
package protocol EventObserver: Sendable {
    /// Called on the publishing thread, before the handlers there.
    func observe<E: DomainEvent>(_ event: E)
}

/// Marks the events that publisher and bridge publish about themselves; they cross a link only if a peer wants them by
/// name.
package protocol SelfReport: DomainEvent {}

extension SelfReport {
    /// True.
    public static var _isSelfReport: Bool { true }
}

/// What became of an event that came from another process.
package enum IncomingOutcome {
    /// Every handler has returned.
    case handled(handlers: Int)
    /// No subscriber here wants the event.
    case unwanted
    /// A handler threw.
    case failed(ThrownError)
    /// Some handlers may not have returned yet; the last one calls the completion, or has called it already.
    case pending
}

/// Learns that the last handler of an awaited event has returned.
package protocol HandlingCompletion: AnyObject, Sendable {
    /// Called when a handler has thrown; the errors of an event's inline handlers come together, when the last of these
    /// handlers has returned.
    func handlersThrew(_ failure: ThrownError)

    /// Called once, when the last handler is done: on that handler's thread, on a journal's thread, or on the thread
    /// that settles a delivery or cancels a subscription.
    func handlersReturned(failure: ThrownError?)
}

extension HandlingCompletion {
    package func handlersThrew(_ failure: ThrownError) {}
}
