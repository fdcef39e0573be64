/// Keeps a handler subscribed: it ends when it is released or cancelled.
///
/// Keep it as long as events are wanted; ignoring the value that `subscribe` returns ends the subscription at once, and
/// the compiler warns about it.
///
/// ```swift
/// var subscriptions: Set<Subscription> = []
/// publisher.subscribe(to: BoxProvisioned.self) { event in … }.store(in: &subscriptions)
/// ```
///
/// All members may be used from any thread, also inside handlers.
public final class Subscription: Sendable, Hashable {
    private let gate: CallGate
    private let channel: AnyEventChannel
    private weak let publisher: EventPublisher?

    init(gate: CallGate, channel: AnyEventChannel, publisher: EventPublisher) {
        self.gate = gate
        self.channel = channel
        self.publisher = publisher
    }

    deinit {
        // No other thread can be cancelling it any more.
        if gate.close() { end() }
    }

    /// Ends the subscription: after this has returned, no call of the handler begins.
    ///
    /// It waits for a call that is just being entered, a matter of a few instructions, and never for one that runs; so
    /// it may be used inside the handler itself. Called where the handler's calls run (its serial queue, its actor, its
    /// publishing thread), nothing of the handler runs afterwards. What the handler has captured is let go of as soon
    /// as no call runs. Further calls do nothing.
    public func cancel() {
        // Another thread may have closed it just now: also for this one no call begins any more.
        guard gate.close() else { return gate.waitUntilEntered() }
        end()
    }

    private func end() {
        channel.removeSubscriber(behind: gate)
        gate.waitUntilEntered()
        publisher?.announceInterest(in: channel.name)
    }

    /// Ends the subscription and returns when calls of the handler that run have returned.
    ///
    /// Not inside the handler itself: it would wait for itself. Cancelling the task does not shorten the wait.
    public func cancelAndWait() async {
        cancel()
        await gate.waitUntilIdle()
    }

    /// Keeps the subscription in a set, for an owner that has several.
    public func store(in subscriptions: inout Set<Subscription>) {
        subscriptions.insert(self)
    }

    /// Subscriptions are equal when they are the same.
    public static func == (left: Subscription, right: Subscription) -> Bool { left === right }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension Set<Subscription> {
    /// Cancels all subscriptions and empties the set.
    public mutating func cancelAll() {
        let all = self
        removeAll()
        for subscription in all { subscription.cancel() }
    }
}
