/// Writes numbers for a narrow column.
enum ShownQuantity {
    /// Text such as `12s`, `3m20s`, `2h03m`, `4d02h`.
    static func time(milliseconds: UInt64) -> String {
        let seconds = milliseconds / 1_000
        if seconds < 60 { return "\(seconds)s" }
        if seconds < 3_600 { return "\(seconds / 60)m\(twoDigits(seconds % 60))s" }
        if seconds < 86_400 { return "\(seconds / 3_600)h\(twoDigits(seconds / 60 % 60))m" }
        return "\(seconds / 86_400)d\(twoDigits(seconds / 3_600 % 24))h"
    }

    /// Text such as `12 µs`, `3.4 ms`, `1.2 s`.
    static func duration(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        var (value, unit) = (Double(seconds) * 1e6 + Double(attoseconds) / 1e12, 0)
        let units = ["µs", "ms", "s"]
        while value >= 999.5, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
        return "\(short(value)) \(units[unit])"
    }

    /// Text such as `512 B`, `3.4 KiB`, `128 MiB`.
    static func bytes(_ count: UInt64) -> String {
        if count < 1_024 { return "\(count) B" }
        var (value, unit) = (Double(count) / 1_024, 0)
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        while value >= 1_023.5, unit < units.count - 1 { (value, unit) = (value / 1_024, unit + 1) }
        return "\(short(value)) \(units[unit])"
    }

    /// Text such as `0`, `0.4`, `9.9`, `1234`.
    static func rate(_ count: UInt64, in seconds: Double) -> String {
        seconds > 0 ? short(Double(count) / seconds) : "0"
    }

    /// The number, with one decimal if there is only one digit before the point.
    private static func short(_ value: Double) -> String {
        let tenths = (value * 10).rounded()
        guard tenths > 0 else { return "0" }
        guard tenths < 100 else { return "\(UInt64(exactly: value.rounded()) ?? .max)" }
        let whole = UInt64(tenths)
        return whole % 10 == 0 ? "\(whole / 10)" : "\(whole / 10).\(whole % 10)"
    }

    private static func twoDigits(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
