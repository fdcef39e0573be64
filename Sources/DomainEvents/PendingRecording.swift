/// A recorder's subscriber that is ready to be added to its channel.
///
/// Adding is a step of its own: a recorder that must not record a channel twice decides under a lock whether to add it.
package struct PendingRecording {
    let subscriber: DeferredSubscriber
    let channel: AnyEventChannel
    let publisher: EventPublisher

    /// Begins to record each event that is published from now on; calls no user code, so the caller may hold a lock.
    ///
    /// - Returns: The subscription, and objects that the caller releases without any lock held, as they may be the last
    ///   to hold a handler. Then the caller calls ``announce()``.
    package func begin() -> (subscription: Subscription, unused: [AnyObject]) {
        let unused = channel.put(subscriber)
        return (Subscription(gate: subscriber.gate, channel: channel, publisher: publisher), unused)
    }

    /// Tells bridges that the events are wanted; called without any lock held.
    package func announce() { publisher.announceInterest(in: channel.name) }
}
