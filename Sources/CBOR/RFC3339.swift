/// Dates as RFC 3339 writes them, `2013-03-21T20:04:00.5Z`: strict about the form, any number of decimals, any offset.
package enum RFC3339 {
    /// Seconds since 1970 to the microsecond, nil for text of another form or a day that does not exist.
    package static func secondsSince1970(_ text: String) -> Double? {
        var scanner = Scanner(bytes: Array(text.utf8))
        guard let year = scanner.number(digits: 4), scanner.take("-"),
            let month = scanner.number(digits: 2), scanner.take("-"),
            let day = scanner.number(digits: 2), scanner.take("T") || scanner.take("t") || scanner.take(" "),
            let hour = scanner.number(digits: 2), scanner.take(":"),
            let minute = scanner.number(digits: 2), scanner.take(":"),
            let second = scanner.number(digits: 2),
            let microseconds = scanner.fraction(),
            let offset = scanner.offset(), scanner.isAtEnd,
            (1...12).contains(month), day >= 1, day <= daysIn(month: month, year: year),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Double(seconds * 1_000_000 + microseconds) / 1_000_000
    }

    private static func daysIn(month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Howard Hinnant's days_from_civil: years begin in March, so that the leap day comes last.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private struct Scanner {
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

        /// Microseconds, rounded; 0 where there are no decimals.
        mutating func fraction() -> Int? {
            guard take(".") else { return 0 }
            guard var value = digit() else { return nil }
            var digits = 1
            while let digit = digit() {
                digits += 1
                if digits <= 6 { value = value * 10 + digit }
                if digits == 7, digit >= 5 { value += 1 }
            }
            while digits < 6 {
                value *= 10
                digits += 1
            }
            return value
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
