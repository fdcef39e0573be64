/// The time of day at which something happened.
enum ClockTime {
    /// Text such as `12:00:00.123`.
    ///
    /// - Parameters:
    ///   - nanoseconds: the time, in nanoseconds since 1970-01-01 00:00 UTC.
    ///   - secondsAheadOfUTC: the offset of the reader's time zone from UTC at a second, in seconds.
    static func text(_ nanoseconds: UInt64, secondsAheadOfUTC: (_ second: Int) -> Int) -> String {
        let milliseconds = Int(nanoseconds / 1_000_000)
        let second = milliseconds / 1000
        let secondOfDay = ((second + secondsAheadOfUTC(second)) % 86_400 + 86_400) % 86_400
        let parts = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { digits($0, 2) }
        return "\(parts.joined(separator: ":")).\(digits(milliseconds % 1000, 3))"
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}
