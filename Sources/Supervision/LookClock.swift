/// Says when to check another process again, and whether a check comes in time.
///
/// A late check means that this process, or the whole machine, stood still. Earlier checks then say nothing about the
/// other process, which may have stood still too, or may have waited for this process. So everything counts afresh from
/// the late check.
///
/// Checks are due at whole multiples of their interval. So all checks with the same interval are due at the same
/// moments, whenever each of them began, and the caller wakes once for all of them.
///
/// This type reads no clock: the caller gives the time, which has to be monotonic.
struct LookClock: Hashable, Sendable {
    let interval: Duration
    private let slack: Duration

    /// When the next check is due.
    private(set) var nextLook: Duration
    /// Nothing before this moment counts.
    private(set) var countsFrom: Duration

    /// Begins to check: for the first time at the next multiple of the interval.
    ///
    /// - Parameter slack: how late a check may be.
    init(every interval: Duration, slack: Duration, from now: Duration) {
        self.interval = interval
        self.slack = slack
        nextLook = now.lastMultiple(of: interval) + interval
        countsFrom = now
    }

    /// Notes a check, and returns whether the check comes in time.
    mutating func looked(at now: Duration) -> Bool {
        let isInTime = now <= nextLook + slack
        if !isInTime { countsFrom = now }
        if now <= nextLook + slack / 2 {
            // A slightly late check does not shift the checks after it. If an earlier check has shifted this one, the
            // next check is back at a multiple, but a whole interval or more after this one was due: a busy machine
            // would be late for a sooner check.
            let due = nextLook + interval
            let multiple = due.lastMultiple(of: interval)
            nextLook = multiple == due ? due : multiple + interval
        } else {
            // A check that is later than that shifts the next one. Otherwise a machine that is always late would fall
            // further behind with each check, and no check would come in time.
            nextLook = now + interval
        }
        return isInTime
    }
}

extension Duration {
    /// The last moment, not after this one, that is a whole multiple of `interval`.
    fileprivate func lastMultiple(of interval: Duration) -> Duration {
        self - Duration(attoseconds: attoseconds % interval.attoseconds)
    }
}
