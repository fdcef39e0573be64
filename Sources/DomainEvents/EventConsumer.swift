/// An object that takes events: held weakly, subscribed once, without a ``Subscription`` to keep.
///
/// ```swift
/// final class Tracking: EventConsumer {
///     func consume(_ event: CanvasEvent) { switch event { … } }
/// }
/// publisher.subscribe(tracking)
/// ```
///
/// The publisher calls the object where it delivers by default: on the publishing thread, unless the publisher was made
/// with ``EventPublisher/init(deliveringOn:)-(QueueDelivery)`` or for the main actor.
public protocol EventConsumer<Event>: AnyObject, Sendable {
    /// The events that the object takes.
    associatedtype Event: DomainEvent

    /// Called for each event; the events that one thread publishes come in order.
    ///
    /// If a caller or a process waits for the event, that caller or process gets the first error that a handler throws.
    /// The publisher publishes other errors as ``HandlerFailed``.
    func consume(_ event: Event) throws
}

/// An object on the main actor that takes events: held weakly, subscribed once, without a ``Subscription`` to keep.
@MainActor
public protocol MainActorEventConsumer<Event>: AnyObject, Sendable {
    /// The events that the object takes.
    associatedtype Event: DomainEvent

    /// Called for each event, in order with everything else that the publisher delivers `on: .main`.
    func consume(_ event: Event) throws
}

/// An actor that takes events: held weakly, subscribed once, without a ``Subscription`` to keep.
public protocol EventConsumingActor<Event>: Actor {
    /// The events that the actor takes.
    associatedtype Event: DomainEvent

    /// Called for each event, in order; each call begins when the one before has returned.
    func consume(_ event: Event) async throws
}

extension EventPublisher {
    /// Subscribes an object, unless it is subscribed already, until it dies or `unsubscribe(_:)` is called.
    ///
    /// The object is held weakly. Its death ends the subscription, at the latest with the next event.
    public func subscribe<C: EventConsumer>(_ consumer: C, file: StaticString = #fileID, line: UInt = #line) {
        let site = SubscriptionSite(file: file, line: line)
        let channel = channel(of: C.Event.self)
        let pending = pendingSubscription(to: channel, on: defaultExecutor, at: site) {
            [weak consumer, weak self] event in
            guard let consumer else { return self?.removeDeadConsumers() ?? () }
            try consumer.consume(event)
        }
        keep(consumer, pending)
    }

    /// Subscribes an object on the main actor, unless it is subscribed, until it dies or `unsubscribe(_:)` is called.
    public func subscribe<C: MainActorEventConsumer>(_ consumer: C, file: StaticString = #fileID, line: UInt = #line) {
        let site = SubscriptionSite(file: file, line: line)
        let pending = pendingSubscription(to: channel(of: C.Event.self), on: .main, at: site) {
            [weak consumer, weak self] event in
            guard let consumer else { return self?.removeDeadConsumers() ?? () }
            // The main queue runs its blocks on the main actor's executor.
            try MainActor.assumeIsolated { try consumer.consume(event) }
        }
        keep(consumer, pending)
    }

    /// Subscribes an actor, unless it is subscribed already, until it dies or `unsubscribe(_:)` is called.
    public func subscribe<C: EventConsumingActor>(_ consumer: C, file: StaticString = #fileID, line: UInt = #line) {
        let site = SubscriptionSite(file: file, line: line)
        let subscriber = TaskSubscriber(C.Event.self, site: site, publisher: self) {
            [weak consumer, weak self] event, gate in
            guard let consumer else { return self?.removeDeadConsumers() ?? () }
            try await consumer.consume(event, behind: gate)
        }
        let channel = channel(of: C.Event.self)
        keep(consumer, PendingSubscription(subscriber: subscriber, channel: channel, publisher: self))
    }

    /// Ends the subscription of an object; does nothing if it has none.
    public func unsubscribe<C: EventConsumer>(_ consumer: C) { drop(consumer) }

    /// Ends the subscription of an object on the main actor; does nothing if it has none.
    ///
    /// If this is called on the main actor, no call of the object's `consume(_:)` begins afterwards.
    public func unsubscribe<C: MainActorEventConsumer>(_ consumer: C) { drop(consumer) }

    /// Ends the subscription of an actor; does nothing if it has none.
    public func unsubscribe<C: EventConsumingActor>(_ consumer: C) { drop(consumer) }
}

extension EventConsumingActor {
    /// Enters the gate on this actor: once code on this actor has closed the gate, no call begins.
    fileprivate func consume(_ event: Event, behind gate: CallGate) async throws {
        guard gate.enter() else { return }
        defer { gate.exit() }
        try await consume(event)
    }
}
