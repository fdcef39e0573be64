/// Decides when a child has made no progress for too long with what it has begun: to send a frame, or to end.
///
/// The caller checks four times within the deadline, and gives a number that changes when the child makes progress. The
/// time counts from the check that first finds the present number, to the check that finds the deadline over. So the
/// child always has the full deadline, and at most about a half more, unless checks come late. After this process, or
/// the machine, has stood still, the time counts afresh.
package struct ProgressWatch: Hashable, Sendable {
    private static let looksPerDeadline = 4
    private static let shortestInterval = Duration.milliseconds(1)
    /// How late a check may be on a machine that is merely busy.
    private static let shortestSlack = Duration.milliseconds(50)

    private let deadline: Duration
    private var clock: LookClock
    private var progress: UInt64?
    private var since = Duration.zero

    package init(deadline: Duration, from now: Duration) {
        self.deadline = deadline.clampedToAllowed
        let interval = max(self.deadline / Self.looksPerDeadline, Self.shortestInterval)
        clock = LookClock(every: interval, slack: max(interval / 2, Self.shortestSlack), from: now)
    }

    package var nextLook: Duration { clock.nextLook }

    /// Notes what a check has found, and returns whether the child has made no progress for too long.
    ///
    /// - Parameter progress: the number; nil if the child has begun nothing, or if this process does not wait for more.
    /// - Returns: Whether the time is over.
    package mutating func looked(at now: Duration, progress: UInt64?) -> Bool {
        let isInTime = clock.looked(at: now)
        if !isInTime || progress != self.progress {
            self.progress = progress
            since = now
        }
        return progress != nil && now - since >= deadline
    }
}
