/// Keeps a handler subscribed until the subscription is released or cancelled.
///
/// Keep the subscription as long as you want events. If you ignore the value that `subscribe` returns, the subscription
/// ends at once; the compiler warns about this.
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
        // If the gate was closed before, there is nothing to wait for: no other thread can still be in `cancel()`.
        if gate.close() { end() }
    }

    /// Ends the subscription: after this has returned, no call of the handler begins.
    ///
    /// It waits for a call that is just beginning, a matter of a few instructions. It never waits for a call that runs,
    /// so the handler itself may call `cancel()`. A call on another thread may have begun so recently that the
    /// handler's first instruction runs only after this has returned. If `cancel()` is called where the handler runs
    /// (its serial queue, its actor, its publishing thread), the handler does not begin afterwards. The handler's
    /// captures are released as soon as no call runs. If a link is handing over events that it has read together, the
    /// captures are released when the link gets to the next of these events, or after the last. A further `cancel()`
    /// changes nothing.
    public func cancel() {
        // Another thread may have closed the gate just now. This call keeps the same promise, so it waits, too.
        guard gate.close() else { return gate.waitUntilEntered() }
        end()
    }

    private func end() {
        channel.removeSubscriber(behind: gate)
        gate.waitUntilEntered()
        publisher?.announceInterest(in: channel.name)
    }

    /// Ends the subscription and returns when all running calls of the handler have returned.
    ///
    /// Do not call this inside the handler itself: the handler would wait for itself. Cancelling the task does not
    /// shorten the wait.
    public func cancelAndWait() async {
        cancel()
        await gate.waitUntilIdle()
    }

    /// Keeps the subscription in a set, for an owner that has several.
    public func store(in subscriptions: inout Set<Subscription>) {
        subscriptions.insert(self)
    }

    /// Subscriptions are equal when they are the same object.
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
