/// Decides which printed lines of a worker pass: `rate` bytes a second, and four seconds' worth at once.
///
/// Once the meter leaves a line out, it leaves out all lines until there is room for a second's worth again. So a
/// reader gets whole passages, and not single lines out of a flood.
struct OutputMeter {
    struct Dropped: Equatable {
        var lines = 0
        var bytes = 0
    }

    /// How many bytes a line counts for besides its own, as even an empty line takes time.
    static let lineBytes = 64

    private static let burstSeconds = 4
    private static let second: UInt64 = 1_000_000_000

    private let rate: Int
    private var room: Int
    private var last: UInt64
    private var isDropping = false
    private var dropped = Dropped()

    /// - Parameters:
    ///   - rate: bytes a second.
    ///   - now: the reading of the monotonic clock, in nanoseconds.
    init(rate: Int, at now: UInt64) {
        self.rate = rate
        room = rate * Self.burstSeconds
        last = now
    }

    /// Takes room for a line of this many bytes, or counts it as left out, and returns whether the line passes.
    mutating func passes(_ bytes: Int, at now: UInt64) -> Bool {
        refill(at: now)
        if isDropping { isDropping = room < rate }
        let cost = bytes + Self.lineBytes
        // A line that costs more than the greatest possible room passes when all of that room is free.
        if !isDropping, room >= min(cost, rate * Self.burstSeconds) {
            room -= min(cost, room)
            return true
        }
        isDropping = true
        dropped.lines += 1
        dropped.bytes += bytes
        return false
    }

    /// Returns what was left out since the last call, and counts anew; nil if nothing was left out.
    mutating func takeDropped() -> Dropped? {
        defer { dropped = Dropped() }
        return dropped.lines == 0 ? nil : dropped
    }

    private mutating func refill(at now: UInt64) {
        guard now > last else { return }
        let nanoseconds = min(now - last, UInt64(Self.burstSeconds) * Self.second)
        // Whole bytes only: the next call counts the rest of the time.
        let (product, overflow) = nanoseconds.multipliedReportingOverflow(by: UInt64(rate))
        let bytes = overflow ? .max : product / Self.second
        guard bytes > 0 else { return }
        last = overflow ? now : now - product % Self.second / UInt64(rate)
        room = min(room + Int(clamping: min(bytes, UInt64(Int32.max))), rate * Self.burstSeconds)
    }
}
