import CBOR

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A repeatable source of random values (SplitMix64), whose seed failures name and `JSON_TEST_SEED` sets.
struct SeededRandom: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init(seed: UInt64) {
        self.seed = seed
        self.state = seed
    }

    static func fromEnvironment() -> SeededRandom {
        let given = getenv("JSON_TEST_SEED").flatMap { UInt64(String(cString: $0)) }
        return SeededRandom(seed: given ?? UInt64.random(in: 0...(.max)))
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { bound < 1 ? 0 : Int.random(in: 0..<bound, using: &self) }

    /// A value that JSON can say without loss.
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
