import CBOR
import TestSupport

extension SeededGenerator {
    /// A value that JSON can hold without loss.
    mutating func value(depth: Int) -> CBORValue {
        switch below(depth > 0 ? 9 : 7) {
        case 0: return .null
        case 1: return .bool(next().isMultiple(of: 2))
        case 2: return .unsigned(next() >> UInt64(below(64)))
        case 3: return .negative(next() >> UInt64(below(64)))
        case 4:
            let number = Double(bitPattern: next())
            return .double(number.isFinite ? number : Double(below(1000)))
        case 5, 6: return .text(text())
        case 7: return .array((0..<below(5)).map { _ in value(depth: depth - 1) })
        default:
            return .map((0..<below(12)).map { .init(key: .text("\($0).\(text())"), value: value(depth: depth - 1)) })
        }
    }

    private mutating func text() -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<below(12) {
            let bound = [0x20, 0x80, 0x100, 0x800, 0x11_0000][below(5)]
            if let scalar = Unicode.Scalar(UInt32(below(bound))) {
                text.append(scalar)
            }
        }
        return String(text)
    }
}
