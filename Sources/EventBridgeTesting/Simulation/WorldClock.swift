/// What time it is in a world, and what becomes due.
struct WorldClock {
    /// On the monotonic clock, in nanoseconds.
    private(set) var now: UInt64
    /// What the wall clock shows beyond the monotonic one: it begins in the year 2030.
    var wallOffset: UInt64
    var alarms = AlarmClock()
    /// What the lengths of steps follow from.
    private var numbers: SeededNumbers

    init(from beginning: UInt64, seed: UInt64) {
        now = beginning
        wallOffset = 1_893_456_000_000_000_000 - beginning
        numbers = SeededNumbers(seed: seed, name: "time")
    }

    /// A thread has come from one point to the next.
    mutating func step() { now += 40 + numbers.next() & 63 }

    /// Another thread has the baton.
    mutating func threadChanged() { now += 1_500 + numbers.next() & 2_047 }

    /// A thread looks what time it is.
    mutating func read() -> UInt64 {
        now += 20
        return now
    }

    mutating func pass(_ nanoseconds: UInt64) { now += nanoseconds }

    /// Nothing happens until then.
    mutating func jump(to time: UInt64) { now = max(now, time) }
}
