/// The time in a world, and the alarms that become due.
struct WorldClock {
    /// The time of the monotonic clock, in nanoseconds.
    private(set) var now: UInt64
    /// How far the wall clock, which begins in the year 2030, is ahead of the monotonic clock, in nanoseconds.
    var wallOffset: UInt64
    var alarms = AlarmClock()
    /// The numbers for the lengths of steps.
    private var numbers: SeededNumbers

    init(from beginning: UInt64, seed: UInt64) {
        now = beginning
        wallOffset = 1_893_456_000_000_000_000 - beginning
        numbers = SeededNumbers(seed: seed, name: "time")
    }

    /// Adds the time of a thread's step from one point to the next.
    mutating func step() { now += 40 + numbers.next() & 63 }

    /// Adds the time of a switch to another thread.
    mutating func threadChanged() { now += 1_500 + numbers.next() & 2_047 }

    /// Adds the time that it takes to read the clock, and returns the clock's time.
    mutating func read() -> UInt64 {
        now += 20
        return now
    }

    mutating func pass(_ nanoseconds: UInt64) { now += nanoseconds }

    /// Moves the clock on to `time`, before which nothing happens.
    mutating func jump(to time: UInt64) { now = max(now, time) }
}
