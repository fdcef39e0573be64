import Synchronization

/// Acknowledgement by the subscriber's own call; written `acknowledging: .manually`.
public struct ManualAcknowledgement: Sendable {
    private init() {}

    /// Each event counts as handled when ``UnsettledDelivery/acknowledge()`` is called, not when the handler returns.
    public static let manually = ManualAcknowledgement()
}

/// An event in the hands of a handler that acknowledges it later, such as a gateway that waits for a broker.
///
/// Until the delivery is settled, the event counts as unhandled: for the peer that sent it, for a caller that waits in
/// `deliver`, and when the process drains. If a worker dies first, an event that the host has sent comes again, with a
/// higher ``EventContext/attempt``, or is given up. Deliveries may be settled in any order, from any thread. The first
/// call settles the delivery, and later calls do nothing. A delivery that is released without a call counts as refused.
public final class UnsettledDelivery<E: DomainEvent>: Sendable {
    /// What happened.
    public let event: E

    /// The event's identity, cause and attempt; give it to `publish(_:causedBy:)` outside the handler.
    public let context: EventContext

    private let settlement: ManualSettlement

    init(_ event: E, _ context: EventContext, _ settlement: ManualSettlement) {
        self.event = event
        self.context = context
        self.settlement = settlement
    }

    deinit {
        settlement.settle(failure: NotSettled(reason: "its delivery was released without acknowledge() or refuse(_:)"))
    }

    /// Counts the event as handled.
    public func acknowledge() { settlement.settle(failure: nil) }

    /// Counts the event as refused, as if a handler had thrown this error.
    public func refuse(_ error: any Error) { settlement.settle(failure: error) }
}

/// The error of an event that was neither acknowledged nor refused by its subscriber.
struct NotSettled: Error, CustomStringConvertible {
    let reason: String

    var description: String { "the event was not acknowledged: \(reason)" }
}

/// Settles one event for its subscriber; only the first call counts.
final class ManualSettlement: Sendable {
    private let isSettled = Atomic<Bool>(false)
    private let subscriber: StrandSubscriber
    private let context: EventContext
    /// Waits until the event has been handled; nil if no caller waits.
    private let tracker: HandlingTracker?

    init(_ context: EventContext, _ tracker: HandlingTracker?, of subscriber: StrandSubscriber) {
        self.subscriber = subscriber
        self.context = context
        self.tracker = tracker
    }

    func settle(failure: (any Error)?) {
        guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        subscriber.settled(context, tracker, failure: failure)
    }
}
