/// When to look at another process again and again, and whether a look comes in time.
///
/// A late look says that this process, or the whole machine, stood still meanwhile. What was seen before then says
/// nothing about the other process, which may have stood still too, or has waited for this one. So everything counts
/// afresh from the late look.
///
/// Pure: the caller that looks reads the clock, which has to be monotonic.
struct LookClock: Hashable, Sendable {
    private let interval: Duration
    private let slack: Duration

    /// When the next look is due.
    private(set) var nextLook: Duration
    /// Nothing before this moment counts.
    private(set) var countsFrom: Duration

    /// - Parameter slack: by how much a look may be late.
    init(every interval: Duration, slack: Duration, from now: Duration) {
        self.interval = interval
        self.slack = slack
        nextLook = now + interval
        countsFrom = now
    }

    /// The caller looks.
    ///
    /// - Returns: Whether the look comes in time.
    mutating func looked(at now: Duration) -> Bool {
        let isInTime = now <= nextLook + slack
        if !isInTime { countsFrom = now }
        nextLook = now + interval
        return isInTime
    }
}
