/// Decides when a child has been silent for so long that it is taken for stopped or stuck.
///
/// The caller checks once in each interval of the heartbeat, and says how long the child has been silent. After this
/// process, or the machine, has stood still, all children have their full time again.
package struct SilenceWatch: Hashable, Sendable {
    /// The greatest tolerance that counts: more than any caller asks for, and far too few intervals for an overflow.
    private static let longestTolerance = 1_000_000

    private let limit: Duration
    private var clock: LookClock

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
    /// - Parameter silence: for how long the child has been silent; nil if this is not known, because something that
    ///   the child sent has yet to be read.
    /// - Returns: The silence if it is too long; otherwise nil.
    package mutating func looked(at now: Duration, silence: Duration?) -> Duration? {
        guard clock.looked(at: now), let silence, min(silence, now - clock.countsFrom) > limit else { return nil }
        return silence
    }
}
