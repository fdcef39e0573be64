/// Durations as people write them: a number and a unit.
package enum DurationText {
    /// Each unit in nanoseconds.
    private static let units: [(name: String, nanoseconds: UInt64)] = [
        ("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ]

    package enum Outcome: Sendable, Hashable {
        case duration(Duration)
        /// The end of a sentence that says what was expected.
        case expected(String)
    }

    package static func duration(_ text: String) -> Duration? {
        guard case .duration(let duration) = parse(text) else { return nil }
        return duration
    }

    package static func parse(_ text: String) -> Outcome {
        let general = "a duration such as \"5s\" or \"100ms\""
        guard let quantity = QuantityText(text) else { return .expected(general) }
        guard let unit = units.first(where: { $0.name == quantity.unit }) else {
            let names = units.map(\.name).joined(separator: ", ")
            return .expected(
                quantity.unit.isEmpty ? "a unit after the number, one of \(names)" : "one of the units \(names)"
            )
        }
        guard let nanoseconds = quantity.whole(times: unit.nanoseconds) else {
            return .expected("a duration of whole nanoseconds below 292 years")
        }
        return .duration(.nanoseconds(nanoseconds))
    }

    /// The duration, cut to whole nanoseconds, in the largest unit that leaves a whole number; in whole seconds if 64
    /// bits do not hold the nanoseconds.
    package static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (nanoseconds, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard !overflow, !carry else { return "\(seconds)s" }
        let unit = units.last { nanoseconds.magnitude.isMultiple(of: $0.nanoseconds) && nanoseconds != 0 }
        guard let unit else { return "0s" }
        return "\(nanoseconds / Int64(unit.nanoseconds))\(unit.name)"
    }
}
