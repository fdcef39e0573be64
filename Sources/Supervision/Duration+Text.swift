/// Durations as sentences show them, and the checks that every configured duration has to pass.
extension Duration {
    /// The longest duration that a specification may hold; sums of such times stay far from overflow.
    package static let longestAllowed = Duration.seconds(366 * 24 * 3600)

    /// The duration in the largest unit that fits, with up to three decimals: `10 s`, `1.5 s`, `100 ms`, `20 us`.
    package var text: String {
        let (seconds, attoseconds) = components
        if seconds != 0 { return Self.decimal(seconds, attoseconds / 1_000_000_000_000_000, "s") }
        let nanoseconds = attoseconds / 1_000_000_000
        if nanoseconds == 0 { return "0 s" }
        if abs(nanoseconds) >= 1_000_000 {
            return Self.decimal(nanoseconds / 1_000_000, nanoseconds % 1_000_000 / 1_000, "ms")
        }
        if abs(nanoseconds) >= 1_000 { return Self.decimal(nanoseconds / 1_000, nanoseconds % 1_000, "us") }
        return "\(nanoseconds) ns"
    }

    private static func decimal(_ whole: Int64, _ thousandths: Int64, _ unit: String) -> String {
        var digits = String(abs(thousandths))
        digits = String(repeating: "0", count: 3 - digits.count) + digits
        while digits.last == "0" { digits.removeLast() }
        return digits.isEmpty ? "\(whole) \(unit)" : "\(whole).\(digits) \(unit)"
    }

    package func mistakes(as name: String, mayBeZero: Bool = true) -> [String] {
        if self < .zero || (self == .zero && !mayBeZero) {
            return ["\(name) is \(text); it must be \(mayBeZero ? "0 s or more" : "more than 0 s")"]
        }
        if self > .longestAllowed {
            return ["\(name) is \(text); it must be at most \(Duration.longestAllowed.text)"]
        }
        return []
    }
}
