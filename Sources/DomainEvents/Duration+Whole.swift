extension Duration {
    /// Whole nanoseconds; 0 for a negative duration, and the largest number for a duration that is too long.
    package var nanoseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return .max }
        let (sum, overflows) = whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
        return overflows ? .max : sum
    }

    /// Whole milliseconds, rounded up so that a nanosecond is not sent as 0; 0 for a negative duration.
    package var milliseconds: UInt64 {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return whole + (rest > 0 ? 1 : 0)
    }
}
