/// The time in a world, and the alarms that become due.
struct WorldClock {
    /// The time of the monotonic clock, in nanoseconds.
    private(set) var now: UInt64
    /// How far the wall clock is ahead of the monotonic one; it begins in the year 2030.
    var wallOffset: UInt64
    var alarms = AlarmClock()
    /// The numbers for the lengths of steps.
    private var numbers: SeededNumbers

    init(from beginning: UInt64, seed: UInt64) {
        now = beginning
        wallOffset = 1_893_456_000_000_000_000 - beginning
        numbers = SeededNumbers(seed: seed, name: "time")
    }

    /// Lets the time of a step pass: a thread has come from one point to the next.
    mutating func step() { now += 40 + numbers.next() & 63 }

    /// Lets the time of a switch pass: another thread has the baton.
    mutating func threadChanged() { now += 1_500 + numbers.next() & 2_047 }

    /// Lets the time that a reading takes pass, and returns what the clock shows.
    mutating func read() -> UInt64 {
        now += 20
        return now
    }

    mutating func pass(_ nanoseconds: UInt64) { now += nanoseconds }

    /// Moves the clock on to `time`, because nothing happens until then.
    mutating func jump(to time: UInt64) { now = max(now, time) }
}
