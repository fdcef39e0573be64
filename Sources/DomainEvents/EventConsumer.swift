import Locks

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
        keep(consumer) {
            subscribe(to: C.Event.self, file: file, line: line) { [weak consumer, weak self] event in
                guard let consumer else { return self?.removeDeadConsumers() ?? () }
                try consumer.consume(event)
            }
        }
    }

    /// Subscribes an object on the main actor, unless it is subscribed, until it dies or `unsubscribe(_:)` is called.
    public func subscribe<C: MainActorEventConsumer>(_ consumer: C, file: StaticString = #fileID, line: UInt = #line) {
        keep(consumer) {
            subscribe(to: C.Event.self, on: .main, file: file, line: line) { [weak consumer, weak self] event in
                guard let consumer else { return self?.removeDeadConsumers() ?? () }
                try consumer.consume(event)
            }
        }
    }

    /// Subscribes an actor, unless it is subscribed already, until it dies or `unsubscribe(_:)` is called.
    public func subscribe<C: EventConsumingActor>(_ consumer: C, file: StaticString = #fileID, line: UInt = #line) {
        keep(consumer) {
            let site = SubscriptionSite(file: file, line: line)
            let subscriber = TaskSubscriber(C.Event.self, site: site, publisher: self) {
                [weak consumer, weak self] event, gate in
                guard let consumer else { return self?.removeDeadConsumers() ?? () }
                try await consumer.consume(event, behind: gate)
            }
            return subscribe(to: channel(of: C.Event.self), deferred: subscriber)
        }
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

/// The objects that are subscribed without a ``Subscription`` to keep.
struct ConsumerTable {
    private struct Entry {
        /// Distinguishes this entry from a later entry of the same object.
        let number: Int
        /// The object's subscription; nil while the object is being subscribed.
        var subscription: Subscription?
    }

    private var entries = WeakTable<AnyObject, Entry>()
    private var lastNumber = 0

    /// Makes an entry, unless the object has one already.
    ///
    /// - Returns: The number of the new entry, and the subscription of a dead object that had the same address.
    mutating func reserve(_ consumer: AnyObject) -> (number: Int?, left: Subscription?) {
        let key = ObjectIdentifier(consumer)
        if entries[key] != nil { return (nil, nil) }
        lastNumber += 1
        return (lastNumber, entries.insert(consumer, Entry(number: lastNumber), for: key)?.subscription)
    }

    /// Puts the subscription into its entry; returns the subscription if the entry was removed before.
    mutating func complete(_ consumer: AnyObject, number: Int, _ subscription: Subscription) -> Subscription? {
        let key = ObjectIdentifier(consumer)
        guard entries[key]?.value.number == number else { return subscription }
        entries.insert(consumer, Entry(number: number, subscription: subscription), for: key)
        return nil
    }

    mutating func remove(_ consumer: AnyObject) -> Subscription? {
        entries.remove(ObjectIdentifier(consumer))?.subscription
    }

    /// Removes the entries of dead objects.
    ///
    /// - Returns: The subscriptions of dead objects, and the objects that live. The caller releases both without the
    ///   lock: another thread may have released an object meanwhile, and the object's deinit may publish or cancel.
    mutating func removeDead() -> (left: [Subscription], living: [AnyObject]) {
        let (dead, living) = entries.removeDead()
        return (dead.compactMap(\.subscription), living)
    }
}
