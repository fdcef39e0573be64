/// A time limit that is counted in looks, each of which uses up only a bounded time.
///
/// While this process or the whole machine is suspended, the process does not look, and what it waits for may stand
/// still, too. If a clock alone measured the limit, the limit could be over at the first look after the suspension.
///
/// This type reads no clock: the caller gives the time, in nanoseconds, which has to be monotonic.
package struct LookBudget: Sendable, Hashable {
    private let limit: UInt64
    private let longestLook: UInt64
    private var lastLook: UInt64
    /// How much of the limit is used up, in nanoseconds.
    package private(set) var spent: UInt64 = 0

    /// - Parameter longestLook: the most that one look uses up, in nanoseconds.
    package init(_ limit: UInt64, longestLook: UInt64, from now: UInt64) {
        self.limit = limit
        self.longestLook = longestLook
        lastLook = now
    }

    package var isSpent: Bool { spent >= limit }

    package mutating func looked(at now: UInt64) {
        spent += min(now - lastLook, longestLook)
        lastLook = now
    }

    /// Gives the whole limit again.
    package mutating func refill() { spent = 0 }
}
