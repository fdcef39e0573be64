import BridgePlatform
import Locks

/// How long to wait for a host before it is said to hang.
struct Patience {
    /// In nanoseconds; a play takes a few tens of milliseconds, on a busy machine some tenths of a second.
    private static let longest: UInt64 = 30_000_000_000
    /// The time between two looks, in nanoseconds.
    private static let look: UInt64 = 100_000_000

    private var budget = LookBudget(longest, longestLook: look, from: MonotonicClock.now())

    /// Waits for a signal, until the next look at the latest; the caller holds the condition's lock.
    ///
    /// - Returns: False if the patience is at its end.
    mutating func wait(for changed: Condition) -> Bool {
        guard !budget.isSpent else { return false }
        changed.wait(untilNanoseconds: MonotonicClock.now() + Self.look)
        budget.looked(at: MonotonicClock.now())
        return true
    }
}
