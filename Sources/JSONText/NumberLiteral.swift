/// A number while it is read digit by digit: its integer, as long as 64 bits hold it, and the decimal digits that
/// decide which double is nearest.
///
/// A number of any length takes a bounded amount of memory and one step for each digit.
struct NumberLiteral {
    /// A few more digits than the 767 that say on which side of the middle between two doubles a number lies; of the
    /// digits behind them it only matters whether one is not 0.
    private static let decisiveDigits = 770

    /// An exponent this large takes no further digits, so no sum overflows; the double is infinite or zero anyway.
    private static let greatestExponent = 1 << 40

    let isNegative: Bool
    var isFloatingPoint = false

    private var magnitude: UInt64 = 0
    private var magnitudeOverflowed = false
    /// Whether the integer's magnitude is 2^64.
    private var isTwoTo64 = false
    private var digits: [UInt8] = []
    private var restIsNotZero = false
    private var pointShift = 0
    private var exponent = 0

    init(isNegative: Bool) { self.isNegative = isNegative }

    mutating func appendInteger(_ digit: UInt8, radix: UInt64 = 10) {
        let product = magnitude.multipliedFullWidth(by: radix)
        let (sum, carry) = product.low.addingReportingOverflow(UInt64(digit))
        let overflow = product.high + (carry ? 1 : 0)
        isTwoTo64 = !magnitudeOverflowed && overflow == 1 && sum == 0
        magnitudeOverflowed = magnitudeOverflowed || overflow > 0
        magnitude = sum
        // Hexadecimal numbers are integers only, and need no decimal digits.
        if radix == 10, !appendSignificant(digit) {
            pointShift += 1
        }
    }

    mutating func appendFraction(_ digit: UInt8) {
        if appendSignificant(digit) {
            pointShift -= 1
        }
    }

    mutating func appendExponent(_ digit: UInt8, isNegative: Bool) {
        guard abs(exponent) < Self.greatestExponent else { return }
        exponent = exponent * 10 + (isNegative ? -Int(digit) : Int(digit))
    }

    /// Takes the next digit; returns false, without keeping it, if all digits that decide are there already.
    private mutating func appendSignificant(_ digit: UInt8) -> Bool {
        if digits.isEmpty, digit == 0 {
            // A leading zero is not kept; the caller still counts it if it comes after the point.
            return true
        }
        guard digits.count < Self.decisiveDigits else {
            restIsNotZero = restIsNotZero || digit != 0
            return false
        }
        digits.append(digit + UInt8(ascii: "0"))
        return true
    }

    /// The integer; nil if the number is not an integer or needs more than 64 bits and a sign.
    var integer: JSONNode.Value? {
        guard !isFloatingPoint, !magnitudeOverflowed else {
            // -2^64 is the one integer of the range whose magnitude has 65 bits.
            return isLowestInteger ? .negative(.max) : nil
        }
        return isNegative && magnitude > 0 ? .negative(magnitude - 1) : .unsigned(magnitude)
    }

    private var isLowestInteger: Bool { !isFloatingPoint && isNegative && isTwoTo64 }

    /// The nearest double; infinite if the number is beyond all doubles.
    var double: Double? {
        guard !digits.isEmpty else { return isNegative ? -0.0 : 0.0 }
        let sticky = restIsNotZero ? "1" : ""
        let shift = exponent + pointShift - sticky.utf8.count
        let sign = isNegative ? "-" : ""
        return Double("\(sign)\(String(decoding: digits, as: UTF8.self))\(sticky)e\(shift)")
    }
}
