/// Decides when a child that is on demand has had nothing to do for its idle time.
///
/// The caller checks four times within the idle time, and the time counts from one check to another. So a child is
/// stopped one idle time after its last work, or up to about a half of that time later, unless checks come late. After
/// this process, or the machine, has stood still, the time begins anew, because what came during the standstill has yet
/// to be read.
package struct IdleWatch: Hashable, Sendable {
    private struct Seen: Hashable, Sendable {
        let activity: UInt64
        let since: Duration
    }

    private static let looksPerIdleTime = 4
    private static let shortestInterval = Duration.milliseconds(1)
    /// How late a check may be on a machine that is merely busy.
    private static let shortestSlack = Duration.milliseconds(50)

    private let idleTime: Duration
    private var clock: LookClock
    private var quiet: Seen?

    /// Begins to watch a child that has just become ready.
    package init(_ onDemand: OnDemand, from now: Duration) {
        idleTime = onDemand.idleTime.clampedToAllowed
        let interval = max(idleTime / Self.looksPerIdleTime, Self.shortestInterval)
        clock = LookClock(every: interval, slack: max(interval / 2, Self.shortestSlack), from: now)
    }

    package var nextLook: Duration { clock.nextLook }

    /// Notes what a check has found, and returns whether the child has been idle for long enough.
    ///
    /// - Parameter activity: a number that grows with everything that goes to the child or comes from it; nil while
    ///   something is on its way or being worked on.
    /// - Returns: Whether the idle time has passed.
    package mutating func looked(at now: Duration, activity: UInt64?) -> Bool {
        let isInTime = clock.looked(at: now)
        guard let activity else {
            quiet = nil
            return false
        }
        guard isInTime, let quiet, quiet.activity == activity else {
            quiet = Seen(activity: activity, since: now)
            return false
        }
        return now - quiet.since >= idleTime
    }
}
