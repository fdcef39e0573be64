/// A number with a unit, as people write them: `100ms`, `1.5s`, `4MiB`.
struct QuantityText {
    /// The longest text that is read, in bytes; the quantities that people write are shorter.
    private static let longest = 40

    /// The digits, without the point.
    private(set) var digits: UInt64 = 0
    /// How many of the digits are after the point.
    private(set) var decimals = 0
    let unit: String

    /// Reads a quantity; nil if digits are missing at the beginning or after a point, if 64 bits do not hold them, or
    /// if the text is too long.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.longest else { return nil }
        var position = 0
        func readDigits(_ take: (UInt64) -> Bool) -> Bool {
            let start = position
            while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
                guard take(UInt64(bytes[position] - UInt8(ascii: "0"))) else { return false }
                position += 1
            }
            return position > start
        }
        var digits: UInt64 = 0
        var decimals = 0
        func append(_ digit: UInt64) -> Bool {
            let (product, overflow) = digits.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(digit)
            digits = sum
            return !overflow && !carry
        }
        guard readDigits(append) else { return nil }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            let start = position
            guard readDigits(append) else { return nil }
            decimals = position - start
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: " ") {
            position += 1
        }
        self.digits = digits
        self.decimals = decimals
        self.unit = String(decoding: bytes[position...], as: UTF8.self)
    }

    /// The quantity in the smallest unit; nil if that is not a whole number or does not fit 64 bits (with a sign).
    func whole(times factor: UInt64) -> Int64? {
        let (high, low) = digits.multipliedFullWidth(by: factor)
        var divisor: UInt64 = 1
        for _ in 0..<decimals {
            let (product, overflow) = divisor.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            divisor = product
        }
        guard high < divisor else { return nil }
        let (quotient, remainder) = divisor.dividingFullWidth((high, low))
        return remainder == 0 ? Int64(exactly: quotient) : nil
    }
}
