/// Dates in the strict form of RFC 3339, such as `2013-03-21T20:04:00.5Z`, with any offset and any number of decimals.
package enum RFC3339 {
    /// A point in time that was read from text.
    package struct Time {
        /// Whole seconds since 1970.
        package let seconds: Int64
        /// The nanoseconds after the whole seconds, rounded.
        package let nanoseconds: Int64
        /// Whether the text has more than six decimals.
        package let isBelowMicroseconds: Bool

        /// Seconds since 1970 as a double; nil if the text has more than six decimals.
        package var doubleSince1970: Double? {
            isBelowMicroseconds ? nil : Double(seconds * 1_000_000 + nanoseconds / 1_000) / 1_000_000
        }
    }

    fileprivate static func daysIn(month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Howard Hinnant's days_from_civil: years begin in March, so the leap day comes last.
    fileprivate static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    fileprivate struct Scanner {
        let bytes: [UInt8]
        var index = 0

        var isAtEnd: Bool { index == bytes.count }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard index < bytes.count, UInt32(bytes[index]) == character.value else { return false }
            index += 1
            return true
        }

        mutating func digit() -> Int? {
            guard index < bytes.count, (0x30...0x39).contains(bytes[index]) else { return nil }
            defer { index += 1 }
            return Int(bytes[index] - 0x30)
        }

        mutating func number(digits: Int) -> Int? {
            var value = 0
            for _ in 0..<digits {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        /// Nanoseconds, rounded, and how many decimals there are.
        mutating func fraction() -> (nanoseconds: Int, digits: Int)? {
            guard take(".") else { return (0, 0) }
            var (value, digits) = (0, 0)
            while let digit = digit() {
                digits += 1
                if digits <= 9 { value = value * 10 + digit }
                if digits == 10, digit >= 5 { value += 1 }
            }
            guard digits > 0 else { return nil }
            for _ in 0..<max(0, 9 - digits) { value *= 10 }
            return (value, digits)
        }

        /// Seconds east of Greenwich.
        mutating func offset() -> Int? {
            if take("Z") || take("z") { return 0 }
            let isWest = take("-")
            guard isWest || take("+"), let hours = number(digits: 2), take(":"), let minutes = number(digits: 2),
                hours < 24, minutes < 60
            else { return nil }
            let seconds = hours * 3_600 + minutes * 60
            return isWest ? -seconds : seconds
        }
    }
}

extension RFC3339.Time {
    /// Reads a time; nil for text of another form, or a day that does not exist.
    package init?(_ text: String) {
        var scanner = RFC3339.Scanner(bytes: Array(text.utf8))
        guard let year = scanner.number(digits: 4), scanner.take("-"),
            let month = scanner.number(digits: 2), scanner.take("-"),
            let day = scanner.number(digits: 2), scanner.take("T") || scanner.take("t") || scanner.take(" "),
            let hour = scanner.number(digits: 2), scanner.take(":"),
            let minute = scanner.number(digits: 2), scanner.take(":"),
            let second = scanner.number(digits: 2),
            let fraction = scanner.fraction(),
            let offset = scanner.offset(), scanner.isAtEnd,
            (1...12).contains(month), day >= 1, day <= RFC3339.daysIn(month: month, year: year),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = RFC3339.daysSince1970(year: year, month: month, day: day)
        // More than nine decimals may be rounded up to a whole second.
        let carry = fraction.nanoseconds / 1_000_000_000
        seconds = Int64(days * 86_400 + hour * 3_600 + minute * 60 + second - offset + carry)
        nanoseconds = Int64(fraction.nanoseconds - carry * 1_000_000_000)
        isBelowMicroseconds = fraction.digits > 6
    }
}
