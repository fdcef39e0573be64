import BridgePlatform

extension Duration {
    /// The reading of the monotonic clock.
    static var onMonotonicClock: Duration { .nanoseconds(Int64(clamping: MonotonicClock.now())) }

    /// Whole milliseconds, at least 1 of what is longer than nothing; for the wire.
    var milliseconds: UInt64 {
        guard self > .zero else { return 0 }
        return max(nanoseconds / 1_000_000, 1)
    }

    /// Whole nanoseconds; 0 for what is negative, and as much as there is for what is too long.
    var nanoseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return .max }
        let (sum, overflows) = whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
        return overflows ? .max : sum
    }
}
