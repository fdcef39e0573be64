// The small half of Foundation is a module of its own where it exists; elsewhere there is only the whole.
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A date as seconds since 1970, rounded to whole microseconds so that reading and writing it again gives the
/// same bytes.
enum EpochTime: Equatable {
    case seconds(Int64)
    case fractional(Double)

    /// Seconds from 1970 to 2001, where Foundation counts from.
    private static let referenceOffset: Double = 978_307_200

    /// nil for infinities and NaN.
    init?(_ date: Date) {
        let interval = date.timeIntervalSinceReferenceDate
        guard interval.isFinite else { return nil }
        let seconds = interval + EpochTime.referenceOffset
        // Between 1901 and 2106 a double of seconds tells microseconds apart on both sides of the shift by 31 years.
        // Outside, rounding to them would not survive the trip, while the plain sum does.
        if seconds > -0x1p31, seconds < 0x1p32 {
            let whole = interval.rounded(.down)
            let fraction = ((interval - whole) * 1_000_000).rounded()
            let microseconds = (whole + EpochTime.referenceOffset) * 1_000_000 + fraction
            self.init(seconds: microseconds / 1_000_000)
        } else {
            self.init(seconds: seconds)
        }
    }

    private init(seconds: Double) {
        // Past 2^53 a double skips whole seconds; as an integer it would only be longer.
        if seconds == seconds.rounded(), abs(seconds) <= 0x1p53 {
            self = .seconds(Int64(seconds))
        } else {
            self = .fractional(seconds)
        }
    }
}
