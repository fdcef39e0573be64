/// A subscriber that is ready to be added to its channel.
///
/// Adding is a step of its own: a recorder that must not record a channel twice, and a publisher that must not
/// subscribe an object twice, decide under a lock whether to add the subscriber.
package struct PendingSubscription {
    let subscriber: AnySubscriber
    let channel: AnyEventChannel
    let publisher: EventPublisher

    /// Subscribes to each event that is published from now on; calls no user code, so the caller may hold a lock.
    ///
    /// - Returns: The subscription, and objects that the caller releases without any lock held, as they may be the last
    ///   to hold a handler. Then the caller calls ``announce()``.
    package func begin() -> (subscription: Subscription, unused: [AnyObject]) {
        let unused = (subscriber as? DeferredSubscriber).map(channel.put(_:)) ?? channel.put(inline: subscriber)
        return (Subscription(gate: subscriber.gate, channel: channel, publisher: publisher), unused)
    }

    /// Tells bridges that the events are wanted; called without any lock held.
    package func announce() { publisher.announceInterest(in: channel.name) }

    /// Subscribes, for a caller that holds no lock.
    func start() -> Subscription {
        let (subscription, unused) = begin()
        withExtendedLifetime(unused) {}
        announce()
        return subscription
    }
}
