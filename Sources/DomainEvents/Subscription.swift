/// Keeps a handler subscribed: it ends when it is released or cancelled.
///
/// Keep it as long as events are wanted; ignoring the value that `subscribe` returns ends the subscription at once, and the
/// compiler warns about it.
public final class Subscription: Sendable {
    private let gate: CallGate
    private let channel: AnyEventChannel
    private weak let publisher: EventPublisher?

    init(gate: CallGate, channel: AnyEventChannel, publisher: EventPublisher) {
        self.gate = gate
        self.channel = channel
        self.publisher = publisher
    }

    deinit {
        cancel()
    }

    /// Ends the subscription: after this has returned, no call of the handler begins.
    ///
    /// Does not wait for calls that run, so it may be used inside the handler itself. What the handler has captured is let go,
    /// as soon as no call runs. Further calls do nothing.
    public func cancel() {
        guard gate.close() else { return }
        channel.removeSubscriber(behind: gate)
        publisher?.announceInterest(in: channel.name)
    }

    /// Ends the subscription and returns when calls of the handler that run have returned.
    ///
    /// Not inside the handler itself: it would wait for itself.
    public func cancelAndWait() async {
        cancel()
        await gate.waitUntilIdle()
    }
}
