import Foundation
import Testing

@testable import DomainEvents

@Suite("A histogram of durations")
struct DurationHistogramTests {
    private func histogram(_ durations: some Sequence<UInt64>) -> DurationHistogram {
        var histogram = DurationHistogram()
        for duration in durations { histogram.record(nanoseconds: duration) }
        return histogram
    }

    @Test(
        "every bucket ends one nanosecond before the next one begins, and is at most a sixteenth of what lies in it wide"
    )
    func bounds() {
        var first: UInt64 = 0
        for index in 0..<DurationHistogram.bucketCount {
            let last = DurationHistogram.upperBound(of: index)
            #expect(last >= first)
            #expect(DurationHistogram.index(of: first) == index)
            #expect(DurationHistogram.index(of: last) == index)
            if index > 0 { #expect((last - first + 1) * 16 <= first) }
            first = last + 1
        }
        #expect(first == 1 << 42)
        #expect(DurationHistogram.index(of: first) == DurationHistogram.bucketCount - 1)
        #expect(DurationHistogram.index(of: .max) == DurationHistogram.bucketCount - 1)
    }

    @Test("a quantile is never less than what it stands for, and at most a sixteenth more")
    func quantiles() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let durations = (0..<Int.random(in: 1...300, using: &generator)).map { _ in
                UInt64.random(in: 1_024..<(1 << UInt64.random(in: 11...41, using: &generator)), using: &generator)
            }
            let histogram = histogram(durations)
            let sorted = durations.sorted()
            for fraction in [0, 0.01, 0.5, 0.9, 0.99, 1] {
                let rank = max(1, Int((Double(sorted.count) * fraction).rounded(.up)))
                let exact = sorted[rank - 1]
                let found = try #require(histogram.quantile(fraction)).nanoseconds
                #expect(found >= exact && found <= exact + exact / 16, "\(fraction) of \(sorted)")
            }
            #expect(histogram.longest.nanoseconds == sorted.last)
            #expect(histogram.sum.nanoseconds == durations.reduce(0, +))
        }
    }

    @Test("without durations there is no quantile; fractions outside of 0 to 1 are the nearer end")
    func ends() {
        #expect(DurationHistogram().quantile(0.5) == nil)
        #expect(DurationHistogram().buckets.isEmpty)
        #expect(DurationHistogram().count(upTo: .seconds(1)) == 0)
        let histogram = histogram([0, 2_000_000])
        #expect(histogram.quantile(-3) == .nanoseconds(1_023))
        #expect(histogram.quantile(.nan) == .nanoseconds(1_023))
        #expect(histogram.quantile(7) == .milliseconds(2))
    }

    @Test("what is longer than the last bucket can tell counts there, with its longest duration")
    func endless() {
        let histogram = histogram([1 << 50, 1 << 51, .max])
        #expect(histogram.count == 3)
        #expect(histogram.quantile(0.5) == histogram.longest)
        #expect(histogram.buckets.map(\.count) == [3])
        #expect(histogram.sum == .nanoseconds(Int64.max))
        #expect(histogram.count(upTo: .seconds(1)) == 0)
    }

    @Test("what is counted up to a limit is exact at the bounds of buckets, and never too much elsewhere")
    func cumulative() {
        let durations = (0..<1_000).map { UInt64($0) * 10_007 }
        let histogram = histogram(durations)
        var seen: UInt64 = 0
        for bucket in histogram.buckets {
            seen += bucket.count
            #expect(histogram.count(upTo: bucket.upperBound) == seen)
        }
        #expect(seen == 1_000)
        for limit in stride(from: UInt64(0), to: 12_000_000, by: 333_333) {
            let found = histogram.count(upTo: .nanoseconds(Int64(limit)))
            #expect(found <= UInt64(durations.count { $0 <= limit }))
            #expect(found >= UInt64(durations.count { $0 + $0 / 16 + 1_023 < limit }))
        }
        #expect(histogram.count(upTo: .seconds(-1)) == 0)
        #expect(histogram.count(upTo: .seconds(Int64.max)) == 1_000)
    }

    @Test("two that are added up are the same as one that has counted all")
    func added() {
        let (left, right) = ((0..<100).map { UInt64($0) << 12 }, (0..<77).map { UInt64($0) << 33 })
        var sum = histogram(left)
        sum.add(histogram(right))
        #expect(sum == histogram(left + right))
        var empty = DurationHistogram()
        empty.add(DurationHistogram())
        #expect(empty == DurationHistogram())
        empty.add(sum)
        #expect(empty == sum)
    }

    @Test("it comes back from its encoded form, which is small")
    func coded() throws {
        let histogram = histogram((0..<1_000).map { UInt64($0) * 1_000 })
        let data = try JSONEncoder().encode(histogram)
        #expect(data.count < 1_500)
        #expect(try JSONDecoder().decode(DurationHistogram.self, from: data) == histogram)
        let empty = try JSONEncoder().encode(DurationHistogram())
        #expect(try JSONDecoder().decode(DurationHistogram.self, from: empty) == DurationHistogram())
    }

    @Test(
        "an encoded form that no histogram has is refused",
        arguments: ["[1]", "[513, 1]", "[7, 1, 7, 1]", "[7, 1, 3, 1]", "[7, 0]", "[7, 18446744073709551615, 8, 1]"]
    )
    func refused(buckets: String) {
        let text = #"{"sum": 0, "longest": 0, "buckets": \#(buckets)}"#
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(DurationHistogram.self, from: Data(text.utf8))
        }
    }
}
