/// Says when to check another process again, and whether a check comes in time.
///
/// A late check means that this process, or the whole machine, stood still. Earlier checks then say nothing about the
/// other process, which may have stood still too, or may have waited for this process. So everything counts afresh from
/// the late check.
///
/// This type reads no clock: the caller gives the time, which has to be monotonic.
struct LookClock: Hashable, Sendable {
    let interval: Duration
    private let slack: Duration

    /// When the next check is due.
    private(set) var nextLook: Duration
    /// Nothing before this moment counts.
    private(set) var countsFrom: Duration

    /// - Parameter slack: how late a check may be.
    init(every interval: Duration, slack: Duration, from now: Duration) {
        self.interval = interval
        self.slack = slack
        nextLook = now + interval
        countsFrom = now
    }

    /// Notes a check, and returns whether the check comes in time.
    mutating func looked(at now: Duration) -> Bool {
        let isInTime = now <= nextLook + slack
        if !isInTime { countsFrom = now }
        // A slightly late check does not shift the checks after it. A later check does: with fixed moments, a machine
        // that is always late would fall further behind with each check, and no check would come in time.
        nextLook = (now <= nextLook + slack / 2 ? nextLook : now) + interval
        return isInTime
    }
}
