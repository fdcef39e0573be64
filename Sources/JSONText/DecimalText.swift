import CBOR

/// The decimal digits of a CBOR integer, small or big, and numbers made of such digits and a power of ten.
struct DecimalText {
    /// A big integer with more bytes than this, leading zeros not counted, is not turned into digits: the work grows
    /// with the square of the length.
    private static let longestInteger = 64

    /// Up to this many decimal places are written out; a number with more places gets an exponent.
    private static let plainPlaces: Int64 = 40

    private let isNegative: Bool
    private let digits: String

    init?(_ value: CBORValue) {
        switch value {
        case .unsigned(let number):
            self.init(isNegative: false, digits: String(number))
        case .negative(let number):
            self.init(isNegative: true, digits: String(JSONWriter.negativeText(number).dropFirst()))
        case .tagged(2, .bytes(let bytes)):
            guard let digits = Self.digits(bytes, addingOne: false) else { return nil }
            self.init(isNegative: false, digits: digits)
        case .tagged(3, .bytes(let bytes)):
            guard let digits = Self.digits(bytes, addingOne: true) else { return nil }
            self.init(isNegative: true, digits: digits)
        default:
            return nil
        }
    }

    private init(isNegative: Bool, digits: String) {
        self.isNegative = isNegative
        self.digits = digits
    }

    private var sign: String { isNegative ? "-" : "" }

    var integerText: String { sign + digits }

    /// This integer times a power of ten.
    func text(exponent: Int64) -> String {
        if exponent == 0 {
            // A number that may exceed 64 bits gets a point: readers such as `JSONReader` may refuse the integer.
            let fits = digits.utf8.count < 20
            return fits ? integerText : integerText + ".0"
        }
        guard exponent < 0, exponent >= -Self.plainPlaces else {
            return "\(sign)\(digits)e\(exponent)"
        }
        let places = Int(-exponent)
        let zeros = String(repeating: "0", count: max(0, places + 1 - digits.utf8.count))
        let padded = zeros + digits
        return "\(sign)\(padded.dropLast(places)).\(padded.suffix(places))"
    }

    /// The digits of a big-endian number n, or of n + 1, which CBOR's negative integers need; nil if n is too long.
    private static func digits(_ bytes: [UInt8], addingOne: Bool) -> String? {
        let significant = bytes.drop { $0 == 0 }
        guard significant.count <= longestInteger else { return nil }
        // Limbs of nine decimal digits, lowest first.
        var limbs: [UInt64] = [0]
        func multiplyAndAdd(_ factor: UInt64, _ addend: UInt64) {
            var carry = addend
            for index in limbs.indices {
                let sum = limbs[index] * factor + carry
                limbs[index] = sum % 1_000_000_000
                carry = sum / 1_000_000_000
            }
            if carry > 0 {
                limbs.append(carry)
            }
        }
        for byte in significant {
            multiplyAndAdd(256, UInt64(byte))
        }
        if addingOne {
            multiplyAndAdd(1, 1)
        }
        let highest = String(limbs[limbs.count - 1])
        return limbs.dropLast().reversed().reduce(into: highest) { text, limb in
            let digits = String(limb)
            text += String(repeating: "0", count: 9 - digits.utf8.count) + digits
        }
    }
}
