import BridgePlatform

extension Duration {
    /// The reading of the monotonic clock.
    static var onMonotonicClock: Duration { .nanoseconds(Int64(clamping: MonotonicClock.now())) }
}
