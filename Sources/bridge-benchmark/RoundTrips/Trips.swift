/// The times of round trips; one trip is under way at a time.
final class Trips: @unchecked Sendable {
    // Sendable: with one event in flight, only one thread at a time uses this; the link's locks order the accesses.
    private(set) var nanoseconds: [UInt64] = []
    private let count: Int
    private let warmUp: Int64
    private var begun: UInt64 = 0
    private var first: UInt64 = 0
    private var last: UInt64 = 0
    private var expected: Int64 = 0

    /// - Parameter warmUp: how many trips come before the counted ones.
    init(count: Int, warmUp: Int64) {
        self.count = count
        self.warmUp = warmUp
        nanoseconds.reserveCapacity(count)
    }

    /// How many trips have ended, those of the warm-up included.
    var ended: Int64 { expected }

    /// The time from the beginning of the first counted trip to the end of the last trip.
    var total: UInt64 { last - first }

    func begin(_ now: UInt64) {
        begun = now
    }

    /// - Returns: Whether the trip was the last.
    func returned(_ id: Int64, at now: UInt64) -> Bool {
        guard id == expected else { Report.fail("reply \(id) came where \(expected) was expected") }
        expected += 1
        if id >= warmUp {
            if nanoseconds.isEmpty { first = begun }
            nanoseconds.append(now - begun)
            last = now
        }
        return nanoseconds.count == count
    }
}
