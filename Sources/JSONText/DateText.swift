/// Points in time as RFC 3339 text in UTC.
package enum DateText {
    private static let secondsPerDay: Int64 = 86_400

    /// From 0000-01-01T00:00:00Z to 9999-12-31T23:59:59Z, because years have four digits in RFC 3339.
    private static let representable: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// Seconds since 1970 as RFC 3339 text; nil outside the years 0 to 9999.
    ///
    /// The text has at most six decimals if they read back as exactly this double, and nine otherwise. ``RFC3339``
    /// reads up to six decimals as a double of seconds, and more than six as nanoseconds.
    package static func rfc3339(seconds: Double) -> String? {
        guard seconds.isFinite, let whole = Int64(exactly: seconds.rounded(.down)), representable.contains(whole) else {
            return nil
        }
        let fraction = seconds - seconds.rounded(.down)
        let microseconds = Int64((fraction * 1_000_000).rounded())
        if Double(whole * 1_000_000 + microseconds) / 1_000_000 == seconds {
            let carry = microseconds / 1_000_000
            let nanoseconds = Int(microseconds - carry * 1_000_000) * 1_000
            return rfc3339(seconds: whole + carry, nanoseconds: nanoseconds)
        }
        // A double less than half a nanosecond below a whole second becomes the last nanosecond before it. Doubles are
        // that fine only within seven weeks of 1970.
        return rfc3339(
            seconds: whole,
            nanoseconds: min(Int((fraction * 1_000_000_000).rounded()), 999_999_999),
            hasAllDecimals: true
        )
    }

    /// The time with at most six decimals; never nil, because 64 bits of nanoseconds end in the year 2554.
    package static func rfc3339(nanosecondsSinceEpoch nanoseconds: UInt64) -> String? {
        let microseconds = Int(nanoseconds % 1_000_000_000 / 1_000)
        return rfc3339(seconds: Int64(nanoseconds / 1_000_000_000), nanoseconds: microseconds * 1_000)
    }

    /// The time with no, three, six or nine decimals: the fewest that are exact.
    ///
    /// - Parameter hasAllDecimals: whether to write nine decimals in any case, so that ``RFC3339`` reads nanoseconds.
    package static func rfc3339(seconds: Int64, nanoseconds: Int, hasAllDecimals: Bool = false) -> String? {
        guard representable.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else { return nil }
        let day = Int((Double(seconds) / Double(secondsPerDay)).rounded(.down))
        let secondOfDay = Int(seconds - Int64(day) * secondsPerDay)
        let (year, month, dayOfMonth) = civil(daysSinceEpoch: day)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))"
        let time =
            "\(padded(secondOfDay / 3600, 2)):\(padded(secondOfDay / 60 % 60, 2)):\(padded(secondOfDay % 60, 2))"
        return "\(date)T\(time)\(fraction(nanoseconds, hasAllDecimals))Z"
    }

    private static func fraction(_ nanoseconds: Int, _ hasAllDecimals: Bool) -> String {
        if hasAllDecimals || nanoseconds % 1_000 != 0 { return ".\(padded(nanoseconds, 9))" }
        if nanoseconds == 0 { return "" }
        let microseconds = nanoseconds / 1_000
        return microseconds % 1_000 == 0 ? ".\(padded(microseconds / 1_000, 3))" : ".\(padded(microseconds, 6))"
    }

    private static func padded(_ number: Int, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    /// The proleptic Gregorian date of a day.
    ///
    /// The calculation lets the year begin in March: then the leap day is its last day, and the lengths of the months
    /// have a regular pattern. 400 such years are always 146,097 days.
    private static func civil(daysSinceEpoch: Int) -> (year: Int, month: Int, day: Int) {
        let daysFromYearZero = daysSinceEpoch + 719_468
        let era = (daysFromYearZero >= 0 ? daysFromYearZero : daysFromYearZero - 146_096) / 146_097
        let dayOfEra = daysFromYearZero - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}
