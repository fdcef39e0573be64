/// Counts of durations in buckets with fixed bounds; the size does not depend on how many durations were counted.
///
/// Each doubling from a microsecond to 73 minutes has sixteen buckets, so the width of a bucket is at most a sixteenth
/// of the durations in it. All histograms have the same buckets, so those of several processes or times can be added
/// up. Durations of less than 1,024 ns lie in the first bucket, those of more than 73 minutes in the last. Recording
/// changes the value in place; only the first recording, and the first after a copy, allocates memory.
public struct DurationHistogram: Sendable, Hashable {
    /// A range of durations, and how many lie in it.
    public struct Bucket: Sendable, Hashable {
        /// The longest duration that belongs in this bucket, to the nanosecond; the last bucket also takes every longer
        /// duration.
        public let upperBound: Duration
        /// How many durations lie in this bucket alone, not counting earlier buckets.
        public let count: UInt64
    }

    /// How many durations were counted.
    public private(set) var count: UInt64 = 0
    private var nanoseconds: UInt64 = 0
    private var longestNanoseconds: UInt64 = 0
    /// The count of each bucket; empty until the first duration is counted.
    private var counts: [UInt64] = []

    /// A histogram without durations.
    public init() {}

    /// The sum of all durations.
    public var sum: Duration { .nanoseconds(Int64(clamping: nanoseconds)) }

    /// The longest duration, exactly; zero if no duration was counted.
    public var longest: Duration { .nanoseconds(Int64(clamping: longestNanoseconds)) }

    /// The buckets that are not empty, the shortest durations first.
    public var buckets: [Bucket] {
        counts.indices.filter { counts[$0] > 0 }.map { index in
            Bucket(upperBound: .nanoseconds(Int64(Self.upperBound(of: index))), count: counts[index])
        }
    }

    /// The quantile at `fraction`: 0.5 asks for the median, 0.99 for the duration that only one of a hundred exceeds.
    ///
    /// The result is the upper bound of the bucket in which that duration lies. If the longest duration is less, or the
    /// bucket is the last, the result is the longest duration. So the result is never too short. Between the first and
    /// the last bucket it is too long by a sixteenth at most; in the first bucket it is 1,023 ns at most.
    /// - Parameter fraction: a number from 0 to 1; a smaller number counts as 0, a greater number as 1.
    /// - Returns: Nil if nothing was counted.
    public func quantile(_ fraction: Double) -> Duration? {
        guard count > 0 else { return nil }
        let share = (Double(count) * min(1, max(0, fraction))).rounded(.up)
        // Beyond 2^53 the nearest `Double` may be too high.
        let rank = min(count, max(1, UInt64(exactly: share) ?? count))
        var seen: UInt64 = 0
        for index in counts.indices {
            seen &+= counts[index]
            guard seen >= rank else { continue }
            let isLast = index == Self.bucketCount - 1
            let found = isLast ? longestNanoseconds : min(Self.upperBound(of: index), longestNanoseconds)
            return .nanoseconds(Int64(clamping: found))
        }
        return longest
    }

    /// How many durations lie in buckets that end at `limit` or before, as a cumulative bucket of Prometheus counts
    /// them.
    ///
    /// The count is exact if `limit` is `longest` or more, or the ``Bucket/upperBound`` of any bucket but the last.
    /// Else it leaves out the bucket around the limit, so nothing beyond the limit counts. Between the first and the
    /// last bucket, a duration that is shorter than the limit by a sixteenth or more always counts.
    public func count(upTo limit: Duration) -> UInt64 {
        guard limit >= .zero else { return 0 }
        let bound = limit.nanoseconds
        if bound >= longestNanoseconds { return count }
        // The last bucket has no end.
        let whole = counts.dropLast().indices.prefix { Self.upperBound(of: $0) <= bound }
        return whole.reduce(0) { $0 &+ counts[$1] }
    }

    /// Adds the durations of another histogram.
    public mutating func add(_ other: DurationHistogram) {
        if other.count == 0 { return }
        makeRoom()
        for index in other.counts.indices { counts[index] &+= other.counts[index] }
        count &+= other.count
        nanoseconds = Self.sum(nanoseconds, other.nanoseconds)
        longestNanoseconds = max(longestNanoseconds, other.longestNanoseconds)
    }

    /// Counts a duration.
    package mutating func record(nanoseconds duration: UInt64) {
        makeRoom()
        counts[Self.index(of: duration)] &+= 1
        count &+= 1
        nanoseconds = Self.sum(nanoseconds, duration)
        longestNanoseconds = max(longestNanoseconds, duration)
    }

    private mutating func makeRoom() {
        if counts.isEmpty { counts = Array(repeating: 0, count: Self.bucketCount) }
    }

    /// Adds two numbers; a sum beyond the largest number, 584 years in nanoseconds, becomes that number.
    private static func sum(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let (sum, isOverflown) = left.addingReportingOverflow(right)
        return isOverflown ? .max : sum
    }

    // MARK: - Buckets

    /// Durations shorter than 2^`leastPower` nanoseconds lie in the first bucket.
    private static let leastPower = 10
    /// Durations of 2^`mostPower` nanoseconds or more lie in the last bucket.
    private static let mostPower = 42
    /// Each doubling has 2^`divisionPower` buckets.
    private static let divisionPower = 4
    private static let divisions = 1 << divisionPower
    static let bucketCount = 1 + (mostPower - leastPower) * divisions

    static func index(of nanoseconds: UInt64) -> Int {
        let power = 63 - nanoseconds.leadingZeroBitCount
        if power < leastPower { return 0 }
        if power >= mostPower { return bucketCount - 1 }
        let division = Int(truncatingIfNeeded: nanoseconds >> UInt64(power - divisionPower)) & (divisions - 1)
        return 1 + (power - leastPower) * divisions + division
    }

    /// The last nanosecond that belongs to a bucket.
    static func upperBound(of index: Int) -> UInt64 {
        if index == 0 { return 1 << UInt64(leastPower) - 1 }
        let (doubling, division) = (index - 1).quotientAndRemainder(dividingBy: divisions)
        let width = UInt64(1) << UInt64(leastPower + doubling - divisionPower)
        return UInt64(divisions + division + 1) * width - 1
    }
}

extension DurationHistogram: Codable {
    private enum CodingKeys: String, CodingKey {
        case sum
        case longest
        case buckets
    }

    /// Writes the sum and the longest duration in nanoseconds, then the number and the count of each bucket that is not
    /// empty, one after the other.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(nanoseconds, forKey: .sum)
        try container.encode(longestNanoseconds, forKey: .longest)
        let filled = counts.indices.filter { counts[$0] > 0 }
        try container.encode(filled.flatMap { [UInt64($0), counts[$0]] }, forKey: .buckets)
    }

    /// Reads what ``encode(to:)`` has written.
    ///
    /// - Throws: `DecodingError` if a value is missing, or a bucket does not exist, is out of order or has a bad count.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        nanoseconds = try container.decode(UInt64.self, forKey: .sum)
        longestNanoseconds = try container.decode(UInt64.self, forKey: .longest)
        let numbers = try container.decode([UInt64].self, forKey: .buckets)
        func refuse(_ text: String) -> DecodingError {
            .dataCorruptedError(forKey: .buckets, in: container, debugDescription: text)
        }
        guard numbers.count.isMultiple(of: 2) else { throw refuse("the last bucket has no count") }
        if !numbers.isEmpty { makeRoom() }
        var next: UInt64 = 0
        for place in stride(from: 0, to: numbers.count, by: 2) {
            let (index, found) = (numbers[place], numbers[place + 1])
            guard index >= next, index < UInt64(Self.bucketCount) else {
                throw refuse("found bucket \(index), expected one of \(next) to \(Self.bucketCount - 1)")
            }
            let (sum, isOverflown) = count.addingReportingOverflow(found)
            guard found > 0, !isOverflown else { throw refuse("bucket \(index) has an impossible count, \(found)") }
            counts[Int(index)] = found
            count = sum
            next = index + 1
        }
    }
}
