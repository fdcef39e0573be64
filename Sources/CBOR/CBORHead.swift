/// The first byte of an item and the argument that follows it.
package struct CBORHead: Sendable, Hashable {
    package let majorType: CBORMajorType

    /// The five low bits of the first byte.
    package let additional: UInt8

    /// The number itself or its complement, a length, a count, a tag, a simple value, or the bits of a float.
    package let argument: UInt64

    @inline(__always)
    package init(majorType: CBORMajorType, additional: UInt8, argument: UInt64) {
        self.majorType = majorType
        self.additional = additional
        self.argument = argument
    }

    static let breakByte: UInt8 = 0xFF

    package var isIndefinite: Bool { additional == 31 && majorType != .simpleOrFloat }

    package var isBreak: Bool { additional == 31 && majorType == .simpleOrFloat }

    /// The integer; nil for other items, and for an integer that the type cannot hold.
    @inline(__always)
    func integer<T: FixedWidthInteger>(_ type: T.Type) -> T? {
        switch majorType {
        case .unsigned: T(exactly: argument)
        case .negative: argument <= UInt64(Int64.max) ? T(exactly: ~Int64(bitPattern: argument)) : nil
        default: nil
        }
    }

    /// The value of a float of any width; nil for every other item.
    package var floatingPoint: Double? {
        guard majorType == .simpleOrFloat else { return nil }
        switch additional {
        case 25: return Double(halfBitPattern: UInt16(truncatingIfNeeded: argument))
        case 26: return Double(singleBitPattern: UInt32(truncatingIfNeeded: argument))
        case 27: return Double(bitPattern: argument)
        default: return nil
        }
    }

    /// What the item is, in words for an error.
    var name: String {
        switch majorType {
        case .unsigned: "the integer \(argument)"
        case .negative: "the integer \(CBORHead.negativeDescription(argument))"
        case .bytes: "a byte string"
        case .text: "a text string"
        case .array: "an array"
        case .map: "a map"
        case .tag: "a value with tag \(argument)"
        case .simpleOrFloat:
            switch additional {
            case 20, 21: "a boolean"
            case 22: "null"
            case 23: "undefined"
            case 25, 26, 27: "the floating-point number \(floatingPoint ?? .nan)"
            case 31: "a break"
            default: "the simple value \(argument)"
            }
        }
    }

    static func simpleDescription(_ number: UInt64) -> String {
        switch number {
        case 20: "false"
        case 21: "true"
        case 22: "null"
        case 23: "undefined"
        default: "simple(\(number))"
        }
    }

    /// -1 - `argument` in decimal, even where no 64-bit integer holds it.
    static func negativeDescription(_ argument: UInt64) -> String {
        let (magnitude, overflow) = argument.addingReportingOverflow(1)
        return overflow ? "-18446744073709551616" : "-\(magnitude)"
    }
}
