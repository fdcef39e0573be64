/// The time of an event as RFC 3339 writes it, to the nanosecond.
///
/// A time is written and read for each event that crosses, so the code uses only integer arithmetic.
enum EventTime {
    private static let nanosecondsPerSecond: UInt64 = 1_000_000_000
    private static let secondsPerDay = 86_400

    static func text(of nanoseconds: UInt64) -> String {
        let (seconds, fraction) = nanoseconds.quotientAndRemainder(dividingBy: nanosecondsPerSecond)
        let (day, second) = Int(seconds).quotientAndRemainder(dividingBy: secondsPerDay)
        let date = Date(day: day)
        return String(unsafeUninitializedCapacity: 30) { text in
            var count = 0
            func write(_ number: Int, _ digits: Int, _ sign: Unicode.Scalar) {
                var rest = number
                for index in (count..<count + digits).reversed() {
                    text[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                text[count + digits] = UInt8(ascii: sign)
                count += digits + 1
            }
            write(date.year, 4, "-")
            write(date.month, 2, "-")
            write(date.day, 2, "T")
            write(second / 3_600, 2, ":")
            write(second / 60 % 60, 2, ":")
            write(second % 60, 2, ".")
            write(Int(fraction), 9, "Z")
            return count
        }
    }

    /// The nanoseconds since 1970; nil for any other text, and for a time that no event can have.
    static func nanoseconds(of text: String) -> UInt64? {
        var text = text
        return text.withUTF8 { nanoseconds(of: $0[...]) }
    }

    private static func nanoseconds(of text: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
        var rest = text
        func number(_ digits: ClosedRange<Int>, _ sign: Unicode.Scalar) -> (value: Int, digits: Int)? {
            let found = rest.prefix { (0x30...0x39).contains($0) }
            guard digits.contains(found.count) else { return nil }
            rest.removeFirst(found.count)
            guard rest.popFirst() == UInt8(ascii: sign) else { return nil }
            return (found.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }, found.count)
        }
        guard let year = number(4...4, "-")?.value, let month = number(2...2, "-")?.value,
            let day = number(2...2, "T")?.value, let hour = number(2...2, ":")?.value,
            let minute = number(2...2, ":")?.value, let second = number(2...2, ".")?.value,
            var (fraction, digits) = number(1...9, "Z"), rest.isEmpty
        else { return nil }
        let date = Date(year: year, month: month, day: day)
        guard year >= 1970, (1...12).contains(month), hour < 24, minute < 60, second < 60,
            // The thirtieth of February is the first or second of March.
            Date(day: date.number) == date
        else { return nil }
        while digits < 9 { (fraction, digits) = (fraction * 10, digits + 1) }
        let seconds = UInt64(date.number * secondsPerDay + hour * 3_600 + minute * 60 + second)
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: nanosecondsPerSecond)
        let (sum, isTooLate) = whole.addingReportingOverflow(UInt64(fraction))
        return overflows || isTooLate ? nil : sum
    }

    /// A day of the Gregorian calendar.
    ///
    /// The arithmetic lets years begin in March, so that the leap day is the last day of a year:
    /// <https://howardhinnant.github.io/date_algorithms.html>.
    private struct Date: Equatable {
        var year: Int
        var month: Int
        var day: Int

        /// The days from 1 March of the year 0 to 1 January 1970.
        private static let epoch = 719_468
        /// The days of 400 years.
        private static let era = 146_097

        init(year: Int, month: Int, day: Int) { (self.year, self.month, self.day) = (year, month, day) }

        /// - Parameter number: days since 1 January 1970, not negative.
        init(day number: Int) {
            let (era, dayOfEra) = (number + Self.epoch).quotientAndRemainder(dividingBy: Self.era)
            let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
            let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
            let monthFromMarch = (5 * dayOfYear + 2) / 153
            day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
            month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
            year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        }

        /// Days since 1 January 1970.
        var number: Int {
            let marchYear = month <= 2 ? year - 1 : year
            let (era, yearOfEra) = marchYear.quotientAndRemainder(dividingBy: 400)
            let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
            return era * Self.era + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - Self.epoch
        }
    }
}
