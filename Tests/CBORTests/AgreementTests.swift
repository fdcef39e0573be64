import CBOR
import TestSupport
import Testing

/// All ways to read an item give the same result.
@Suite("Skipping, values and types agree")
struct AgreementTests {
    @Test("D21: a random value is what it was when it was written and read")
    func identity() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<500 {
            let value = random.value(depth: 4)
            let bytes = try value.encoded()
            #expect(try CBORValue(decoding: bytes) == value, "seed \(random.seed)")
            #expect(try CBORValue(decoding: bytes).encoded() == bytes, "seed \(random.seed)")
        }
    }

    @Test("D21: of short inputs of every kind, and of every beginning of the examples, all say the same")
    func shortInputs() throws {
        var inputs: [[UInt8]] = [[]]
        for first in UInt8.min...UInt8.max {
            inputs.append([first])
            for second in UInt8.min...UInt8.max where [0, 1, 24, 27, 28, 31].contains(second & 0x1F) {
                inputs.append([first, second])
            }
        }
        for vector in try AppendixVector.load() {
            inputs += vector.bytes.indices.map { Array(vector.bytes[...$0]) }
            inputs.append(vector.bytes + [0])
        }
        for input in inputs where !agree(on: input) { Issue.record("they differ about \(input.hexadecimal)") }
    }

    private func agree(on input: [UInt8]) -> Bool {
        let value = refusal(of: input)
        let skipped = input.withUnsafeBytes { bytes -> CBORError? in
            var reader = CBORReader(bytes)
            do throws(CBORError) {
                try reader.skipItem()
                guard !reader.isAtEnd else { return nil }
                return CBORError(.trailingBytes(count: reader.bytesLeft), offset: reader.position)
            } catch {
                return error
            }
        }
        guard value?.code == skipped?.code, value?.offset == skipped?.offset else { return false }
        // This type takes any item, so the decoder refuses an item only because of its bytes.
        let typed = cborError { _ = try CBORDecoder().decode(AnyItem.self, from: input) }
        return typed == value
    }
}

/// Takes any item and looks at none.
private struct AnyItem: Decodable {
    init(from decoder: any Decoder) throws {}
}

extension SeededGenerator {
    /// A value of any kind that the format has, with keys that are all different.
    mutating func value(depth: Int) -> CBORValue {
        func number() -> UInt64 { next() >> UInt64.random(in: 0..<64, using: &self) }
        func text() -> String { String(String.UnicodeScalarView((0..<Int(number() % 12)).map { _ in scalar() })) }
        func scalar() -> Unicode.Scalar { Unicode.Scalar(UInt32(number() % 0xD800)) ?? "a" }
        switch Int.random(in: 0..<(depth > 0 ? 13 : 10), using: &self) {
        case 0: return .unsigned(number())
        case 1: return .negative(number())
        case 2: return .bytes((0..<Int(number() % 40)).map { _ in UInt8(truncatingIfNeeded: number()) })
        case 3: return .text(text())
        case 4: return .bool(number() & 1 == 0)
        case 5: return .null
        case 6: return .undefined
        case 7: return .double(Double(bitPattern: next()))
        case 8: return .simple(UInt8(number() & 1 == 0 ? number() % 20 : number() % 224 + 32))
        case 9: return .double(Double(Float(bitPattern: UInt32(truncatingIfNeeded: next()))))
        case 10: return .array((0..<Int.random(in: 0..<30, using: &self)).map { _ in value(depth: depth - 1) })
        case 11: return .tagged(number(), value(depth: depth - 1))
        default:
            let keys = Set((0..<Int.random(in: 0..<30, using: &self)).map { _ in text() })
            return .map(keys.sorted().map { CBORValue.Entry(key: .text($0), value: value(depth: depth - 1)) })
        }
    }
}
