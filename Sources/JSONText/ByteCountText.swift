/// Sizes in bytes as people write them: a number and a unit.
package enum ByteCountText {
    /// The binary units are at the front, the largest first: ``text(_:)`` takes the first that leaves a whole number.
    private static let units: [(name: String, bytes: UInt64)] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000), ("KB", 1000), ("B", 1),
    ]

    package enum Outcome: Sendable, Hashable {
        case bytes(Int)
        /// The end of a sentence that says what was expected.
        case expected(String)
    }

    package static func parse(_ text: String) -> Outcome {
        guard let quantity = QuantityText(text) else { return .expected("a size such as \"4MiB\" or \"512KiB\"") }
        guard let unit = units.first(where: { $0.name == quantity.unit }) else {
            let names = units.map(\.name)
            let question = NearestName.question(for: quantity.unit, among: names)
            let list = names.filter { $0 != "KB" }.joined(separator: ", ")
            return .expected(
                (quantity.unit.isEmpty ? "a unit after the number, one of \(list)" : "one of the units \(list)")
                    + question
            )
        }
        guard let bytes = quantity.whole(times: unit.bytes).flatMap({ Int(exactly: $0) }) else {
            return .expected("a whole number of bytes below 8 EiB")
        }
        return .bytes(bytes)
    }

    /// The size in the largest binary unit that leaves a whole number, or in bytes if none does.
    package static func text(_ bytes: Int) -> String {
        let unit = units.prefix(4).first { bytes != 0 && bytes.magnitude.isMultiple(of: UInt($0.bytes)) }
        guard let unit else { return "\(bytes)B" }
        return "\(bytes / Int(unit.bytes))\(unit.name)"
    }
}
