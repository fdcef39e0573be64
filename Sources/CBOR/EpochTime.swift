// FoundationEssentials, the small half of Foundation, is a module only on some systems; elsewhere there is only the
// whole.
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A date in the plainest form of CBOR that gives it back exactly, to the last bit.
///
/// Foundation counts seconds from 2001, as a double. CBOR and most other systems count from 1970. For present-day dates
/// a double from 2001 has 2²³ steps in a second, and a double from 1970 has 2²². So tag 1 can hold only every other
/// date.
enum EpochTime: Equatable {
    /// Tag 1: whole seconds since 1970.
    case seconds(Int64)
    /// Tag 1: a double of seconds since 1970.
    case fractional(Double)
    /// Tag 1001 (RFC 9581): whole seconds since 1970, and the nanoseconds after them.
    case nanoseconds(Int64, Int64)
    /// Tag 1001: the nearest double of seconds since 1970, and the exact seconds since 2001.
    ///
    /// Within 97 days of 2001, dates may be less than a nanosecond apart, so nanoseconds do not distinguish them.
    case exact(since1970: Double, since2001: Double)

    /// Seconds from 1970 to 2001, where Foundation counts from.
    static let referenceOffset: Int64 = 978_307_200

    /// Finds the form for a date; nil for infinities and NaN.
    init?(_ date: Date) {
        let interval = date.timeIntervalSinceReferenceDate
        guard interval.isFinite else { return nil }
        let seconds = interval + Double(Self.referenceOffset)
        if seconds - Double(Self.referenceOffset) == interval {
            // Past 2^53 a double skips whole seconds; an integer would be longer and no more exact.
            let isWhole = seconds == seconds.rounded() && abs(seconds) <= 0x1p53
            self = isWhole ? .seconds(Int64(seconds)) : .fractional(seconds)
        } else if let (whole, nanoseconds) = Self.split(interval),
            Self.secondsSince2001(seconds: whole, nanoseconds: nanoseconds) == interval
        {
            self = .nanoseconds(whole, nanoseconds)
        } else {
            self = .exact(since1970: seconds, since2001: interval)
        }
    }

    /// Seconds since 2001, as Foundation counts them; nil where the seconds are out of range.
    static func secondsSince2001(seconds: Int64, nanoseconds: Int64) -> Double? {
        let (whole, overflow) = seconds.subtractingReportingOverflow(referenceOffset)
        return overflow ? nil : Double(whole) + Double(nanoseconds) / 1_000_000_000
    }

    /// Whole seconds since 1970, and the nanoseconds after them; nil beyond 2^62 seconds.
    static func split(_ interval: Double) -> (Int64, Int64)? {
        let whole = interval.rounded(.down)
        guard abs(whole) < 0x1p62 else { return nil }
        let nanoseconds = Int64(((interval - whole) * 1_000_000_000).rounded())
        let carry = nanoseconds / 1_000_000_000
        return (Int64(whole) + referenceOffset + carry, nanoseconds - carry * 1_000_000_000)
    }
}
