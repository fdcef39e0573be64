// FoundationEssentials, the small half of Foundation, is a module only on some systems; elsewhere there is only the
// whole.
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A decimal number as the exponent and mantissa of tag 4 (RFC 8949 section 3.4.4).
struct DecimalFraction {
    let exponent: Int
    let isNegative: Bool

    /// The mantissa's absolute value, most significant byte first, without leading zeros: at most sixteen bytes.
    private let magnitude: [UInt8]

    /// Splits a decimal into its parts; nil for a decimal that is not a number.
    init?(_ decimal: Decimal) {
        guard !decimal.isNaN else { return nil }
        // A zero from text such as "0.0" has an exponent, a zero made from its parts has none; both are written alike.
        exponent = decimal.isZero ? 0 : decimal.exponent
        isNegative = decimal.isSignMinus && !decimal.isZero
        var magnitude: [UInt8] = []
        for digit in decimal.significand.magnitude.description.utf8 {
            guard (0x30...0x39).contains(digit) else { return nil }
            var carry = UInt(digit - 0x30)
            for index in magnitude.indices.reversed() {
                let value = UInt(magnitude[index]) * 10 + carry
                magnitude[index] = UInt8(truncatingIfNeeded: value)
                carry = value >> 8
            }
            if carry > 0 { magnitude.insert(UInt8(truncatingIfNeeded: carry), at: 0) }
        }
        self.magnitude = magnitude
    }

    func writeMantissa(to output: UnsafeMutablePointer<CBORBuffer.Storage>) {
        // CBOR writes the negative integer -1 - n as n.
        let magnitude = isNegative ? DecimalFraction.decremented(magnitude) : magnitude
        guard magnitude.count > 8 else {
            let small = magnitude.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            output.pointee.head((isNegative ? CBORMajorType.negative : .unsigned).rawValue << 5, small)
            return
        }
        output.pointee.tag(isNegative ? CBORTag.negativeBignum : CBORTag.unsignedBignum)
        magnitude.withUnsafeBytes { output.pointee.bytes($0) }
    }

    private static func decremented(_ magnitude: [UInt8]) -> [UInt8] {
        var result = magnitude
        for index in result.indices.reversed() {
            if result[index] > 0 {
                result[index] -= 1
                break
            }
            result[index] = 0xFF
        }
        return Array(result.drop { $0 == 0 })
    }

    /// The number that an exponent and the bytes of a mantissa stand for; nil where `Decimal` cannot hold these two
    /// parts exactly, even if it could hold the number with another exponent.
    static func decimal(exponent: Int, magnitude: UnsafeRawBufferPointer, isNegative: Bool) -> Decimal? {
        let digits = magnitude.drop { $0 == 0 }
        guard digits.count <= 16, (-128...127).contains(exponent) else { return nil }
        // The bytes of a negative number hold -1 - value, so its significand is one more than they say. A significand
        // has sixteen bytes; one more than the greatest significand would be rounded.
        if isNegative, digits.count == 16, digits.allSatisfy({ $0 == 0xFF }) { return nil }
        var significand = Decimal(0)
        for byte in digits { significand = significand * 256 + Decimal(Int(byte)) }
        if isNegative { significand += 1 }
        let result = Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: significand)
        return result.isNaN ? nil : result
    }
}
