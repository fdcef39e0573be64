import BridgePlatform
import Locks

/// How long to wait for a host before it is said to hang.
///
/// The time is counted in looks, each of which adds little. A machine that stands still therefore adds no more than
/// that, however long it does so: the host stood still with it.
struct Patience {
    /// In nanoseconds; a play takes a few tens of milliseconds, on a busy machine some tenths of a second.
    private static let longest: UInt64 = 30_000_000_000
    /// The most that one look adds, in nanoseconds.
    private static let look: UInt64 = 100_000_000

    private var spent: UInt64 = 0

    /// Waits for a signal, until the next look at the latest; the caller holds the condition's lock.
    ///
    /// - Returns: False if the patience is at its end.
    mutating func wait(for changed: Condition) -> Bool {
        guard spent < Self.longest else { return false }
        let begin = MonotonicClock.now()
        changed.wait(untilNanoseconds: begin + Self.look)
        spent += min(MonotonicClock.now() - begin, Self.look)
        return true
    }
}
