/// Decides which printed lines of a worker pass: so many bytes a second, and four seconds' worth at once.
///
/// Once it leaves lines out, it goes on doing so until there is room for a second's worth again. So a reader gets whole
/// passages, and not single lines out of a flood.
struct OutputMeter {
    /// What was left out.
    struct Dropped: Equatable {
        var lines = 0
        var bytes = 0
    }

    /// What a line counts for besides its bytes, as even an empty line takes time.
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
    ///   - now: on the monotonic clock, in nanoseconds.
    init(rate: Int, at now: UInt64) {
        self.rate = rate
        room = rate * Self.burstSeconds
        last = now
    }

    /// Whether a line of so many bytes passes.
    mutating func passes(_ bytes: Int, at now: UInt64) -> Bool {
        refill(at: now)
        if isDropping { isDropping = room < rate }
        let cost = bytes + Self.lineBytes
        // A line that costs more than the most room there can be passes when all of that room is free.
        if !isDropping, room >= min(cost, rate * Self.burstSeconds) {
            room -= min(cost, room)
            return true
        }
        isDropping = true
        dropped.lines += 1
        dropped.bytes += bytes
        return false
    }

    /// What was left out since the last call; nil if nothing was.
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
