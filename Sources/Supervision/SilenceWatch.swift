/// Decides when a child has been silent for so long that it counts as suspended or stuck.
///
/// The caller checks once in each interval of the heartbeat, and says how long the child has been silent. After this
/// process, or the machine, has stood still, all children have their full time again.
package struct SilenceWatch: Hashable, Sendable {
    /// The greatest tolerance that counts: more than any caller asks for, and too small for the limit to overflow.
    private static let longestTolerance = 1_000_000

    private let limit: Duration
    private var clock: LookClock
    /// The child's own count of its heartbeats, as the last check found it.
    private var counted: UInt64?
    /// When the child last changed the count; nil if no check has found a change.
    private var lastCounted: Duration?

    /// Begins to watch; nil for a heartbeat that has no interval.
    package init?(_ heartbeat: Heartbeat, from now: Duration) {
        guard heartbeat.every > .zero else { return nil }
        let interval = heartbeat.every.clampedToAllowed
        limit = interval * min(max(heartbeat.tolerance, 1), Self.longestTolerance)
        clock = LookClock(every: interval, slack: interval / 2, from: now)
    }

    package var nextLook: Duration { clock.nextLook }

    /// Notes what a check has found.
    ///
    /// - Parameters:
    ///   - silence: for how long the child has been silent; nil if this is not known, because something that the child
    ///     sent has yet to be read.
    ///   - heartbeats: a number that the child changes to show that it lives; nil if it has no such number. A change
    ///     that a check finds is taken to have come half an interval before the check.
    /// - Returns: The silence if it is too long; otherwise nil.
    package mutating func looked(at now: Duration, silence: Duration?, heartbeats: UInt64? = nil) -> Duration? {
        if let heartbeats, heartbeats != counted {
            if counted != nil { lastCounted = now - clock.interval / 2 }
            counted = heartbeats
        }
        guard clock.looked(at: now), var silence else { return nil }
        if let lastCounted { silence = min(silence, now - lastCounted) }
        return min(silence, now - clock.countsFrom) > limit ? silence : nil
    }
}
