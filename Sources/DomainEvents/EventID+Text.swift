extension EventID: LosslessStringConvertible {
    /// Parses what ``description`` writes: `origin-incarnation-number`; nil for any other text.
    ///
    /// The parsing begins at the text's end, because an origin may have hyphens.
    public init?(_ text: String) {
        var text = text
        let parts = text.withUTF8 { bytes -> (originBytes: Int, incarnation: UInt64, number: UInt64)? in
            let hyphen = UInt8(ascii: "-")
            guard let second = bytes.lastIndex(of: hyphen), let first = bytes[..<second].lastIndex(of: hyphen),
                first > 0, let number = Self.number(bytes[(second + 1)...], radix: 10),
                let incarnation = Self.number(bytes[(first + 1)..<second], radix: 16)
            else { return nil }
            return (first, incarnation, number)
        }
        guard let parts else { return nil }
        let origin = String(Substring(text.utf8.prefix(parts.originBytes)))
        self.init(origin: origin, incarnation: parts.incarnation, number: parts.number)
    }

    /// Reads a number without sign and leading zeros, so that each identifier has exactly one text.
    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>, radix: UInt64) -> UInt64? {
        guard let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            let value: UInt64
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = UInt64(digit - UInt8(ascii: "a")) + 10
            default: return nil
            }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: radix)
            let (sum, overflows) = product.addingReportingOverflow(value)
            guard value < radix, !isTooLarge, !overflows else { return nil }
            number = sum
        }
        return number
    }
}
