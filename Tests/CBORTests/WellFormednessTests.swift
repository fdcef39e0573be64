import CBOR
import Testing

@Suite("RFC 8949 items")
struct WellFormednessTests {
    @Test("D6: every example of Appendix A decodes to its value")
    func appendixDecodes() throws {
        let vectors = try AppendixVector.load()
        #expect(vectors.count == 82)
        for vector in vectors where !vector.isWithdrawn {
            let value = try CBORValue(decoding: vector.bytes)
            if vector.diagnostic == nil {
                // A null in the file is no value to the JSON decoder.
                let expected = vector.decoded ?? .null
                #expect(expected.matches(value), "\(vector): \(value)")
            } else {
                #expect(value == diagnosticValues[vector.diagnostic ?? ""], "\(vector): \(value)")
            }
        }
    }

    @Test("D6: round-trip examples of Appendix A encode to the same bytes")
    func appendixRoundTrips() throws {
        let vectors = try AppendixVector.load().filter { $0.roundtrip && !$0.isWithdrawn }
        #expect(vectors.count == 64)
        for vector in vectors {
            #expect(try CBORValue(decoding: vector.bytes).encoded().hexadecimal == vector.hex)
        }
    }

    @Test("D8: every proper prefix of an example ends unexpectedly")
    func prefixesAreRefused() throws {
        var count = 0
        for vector in try AppendixVector.load() {
            for length in 0..<vector.bytes.count where length > 0 {
                count += 1
                let error = refusal(of: Array(vector.bytes.prefix(length)))
                #expect(error?.code == .unexpectedEnd, "\(vector) cut to \(length)")
            }
        }
        #expect(count == 427)
        #expect(refusal(of: [])?.code == .unexpectedEnd)
    }

    @Test("D7: the 568 ill-formed items are refused with an offset, bare and in an array")
    func illFormedItemsAreRefused() {
        let items = WellFormednessTests.illFormedItems
        #expect(items.count == 568)
        for item in items {
            let bare = refusal(of: item)
            #expect(bare != nil, "\(item.hexadecimal)")
            let wrapped = refusal(of: [0x81] + item)
            #expect(wrapped != nil, "81\(item.hexadecimal)")
            if let bare, let wrapped, bare.code == wrapped.code { #expect(wrapped.offset == bare.offset + 1) }
            #expect(cborError { _ = try CBORDecoder().decode([Int].self, from: [0x81] + item) } == wrapped)
        }
    }

    private static var illFormedItems: [[UInt8]] {
        var items: [[UInt8]] = []
        for major in UInt8(0)..<8 {
            for additional in UInt8(28)...30 { items.append([major << 5 | additional]) }
        }
        items += [[0x1F], [0x3F], [0xDF], [0xFF]]
        items += (UInt8(0)..<32).map { [0xF8, $0] }
        for string in [UInt8(0x5F), 0x7F] {
            // All bytes but the break and an empty chunk of the string's own kind, which only lacks its continuation.
            let emptyChunk = string & 0xE0
            items += (UInt8.min...UInt8.max).filter { $0 != 0xFF && $0 != emptyChunk }.map { [string, $0] }
        }
        return items
    }

    @Test(
        "D9, D12, D13, D15: ill-formed items name what is wrong and where",
        arguments: [
            ("1c", CBORError.Code.reservedAdditionalInformation(initialByte: 0x1C), 0),
            ("82011f", .reservedAdditionalInformation(initialByte: 0x1F), 2),
            ("f81f", .badSimpleValue(31), 0),
            ("f818", .badSimpleValue(24), 0),
            ("5f6161ff", .badChunk, 1),
            ("5f5f4101ffff", .badChunk, 1),
            ("7f4101ff", .badChunk, 1),
            ("5f01ff", .badChunk, 1),
            ("ff", .unexpectedBreak, 0),
            ("81ff", .unexpectedBreak, 1),
            ("bf01ff", .unexpectedBreak, 2),
            ("c1ff", .unexpectedBreak, 1),
            ("0000", .trailingBytes(count: 1), 1),
            ("80ff00", .trailingBytes(count: 2), 1),
            ("62c080", .invalidUTF8, 1),
            ("63eda080", .invalidUTF8, 1),
            ("64f4908080", .invalidUTF8, 1),
            ("6361ffff", .invalidUTF8, 2),
            ("6180", .invalidUTF8, 1),
            ("61c3", .invalidUTF8, 1),
            ("7f61c361bcff", .invalidUTF8, 2),
            ("a262c08000", .invalidUTF8, 2),
            ("a201020103", .duplicateKey("1"), 3),
            ("a20102180103", .duplicateKey("1"), 3),
            ("a220022003", .duplicateKey("-1"), 3),
            ("a261610061617f", .duplicateKey("\"a\""), 4),
            ("bf616100616100ff", .duplicateKey("\"a\""), 4),
            ("a26161007f6161ff00", .duplicateKey("\"a\""), 4),
            ("a2410100410100", .duplicateKey("h'01'"), 4),
            // An array, map or tagged item is the same key in any spelling.
            ("a29fff018003", .duplicateKey("h'80'"), 4),
            ("a2817f6161ff0081616100", .duplicateKey("h'816161'"), 7),
            ("a281f93e000081fb3ff800000000000000", .duplicateKey("h'81f93e00'"), 6),
            ("a2bf616101ff00a161610100", .duplicateKey("h'a1616101'"), 7),
            ("a2c1180100c10100", .duplicateKey("h'c101'"), 5),
            ("a2f601f602", .duplicateKey("null"), 3),
            ("a3f501f402f503", .duplicateKey("true"), 5),
            ("a2e001e002", .duplicateKey("simple(0)"), 3),
            ("a2f8ff01f8ff02", .duplicateKey("simple(255)"), 4),
            ("a2f93e0001fb3ff800000000000002", .duplicateKey("1.5"), 5),
            ("a2f97e0001f97e0002", .duplicateKey("nan"), 5),
            ("a2810101810102", .duplicateKey("h'8101'"), 4),
            ("a2a101020ca101020d", .duplicateKey("h'a10102'"), 5),
            ("a2c1010cc1010d", .duplicateKey("h'c101'"), 4),
            ("81a26161006161f6", .duplicateKey("\"a\""), 5),
        ]
    )
    func reasonsAndOffsets(hex: String, code: CBORError.Code, offset: Int) {
        let error = refusal(ofHex: hex)
        #expect(error?.code == code)
        #expect(error?.offset == offset)
        #expect(error?.description.contains("byte \(offset)") == true)
    }

    @Test("D11: huge counts are refused before anything is reserved", arguments: [UInt8(0x9B), 0xBB, 0x5B, 0x7B])
    func hugeCounts(initialByte: UInt8) {
        for count in [1 << 63, UInt64.max, 1 << 32] {
            let bytes = [initialByte] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) } + [0, 0]
            #expect(refusal(of: bytes)?.code == .countTooLarge(count: count, bytesLeft: 2))
            #expect(cborError { _ = try CBORDecoder().decode([String: Int].self, from: bytes) } != nil)
        }
        #expect(refusal(of: [initialByte - 1, 0xFF, 0xFF, 0xFF, 0xFF, 0])?.code == .unexpectedEnd)
    }

    @Test("D10: 64 levels are read and written, 65 are not")
    func depthLimit() throws {
        let deepest = [UInt8](repeating: 0x81, count: 64) + [0]
        let value = try CBORValue(decoding: deepest)
        #expect(try value.encoded() == deepest)
        #expect(refusal(of: [0x81] + deepest)?.offset == 64)
        let error = cborError { _ = try CBORValue.array([value]).encoded() }
        #expect(error?.code == .depthExceeded(limit: 64))
    }

    @Test("D18: a million tiny items are read within the budget, and refused past it")
    func manyTinyItems() throws {
        let bytes: [UInt8] = [0x9A, 0, 0x0F, 0x42, 0x40] + [UInt8](repeating: 1, count: 1_000_000)
        guard case .array(let elements) = try CBORValue(decoding: bytes) else {
            Issue.record("not an array")
            return
        }
        #expect(elements.count == 1_000_000)
        let limits = CBORLimits(maximumItems: 1_000)
        #expect(refusal(of: bytes, limits: limits)?.code == .tooManyItems(limit: 1_000))
    }

    @Test("D15, D18: a map of many keys is read, and one key twice among them is found", .timeLimit(.minutes(5)))
    func largeMap() throws {
        let count = 200_000
        var entries = (0..<count).map { CBORValue.Entry(key: .text(String($0, radix: 36)), value: .null) }
        let value = try CBORValue(decoding: try CBORValue.map(entries).encoded())
        #expect(value == .map(entries))
        entries[count - 1].key = entries[count / 2].key
        let bytes = try CBORValue.map(entries).encoded()
        #expect(refusal(of: bytes)?.code == .duplicateKey("\"\(String(count / 2, radix: 36))\""))
    }

    @Test("D16: floats take the shortest width that keeps them, NaN payloads included")
    func shortestFloats() throws {
        for (bits, hex) in [
            (UInt64(0x8000_0000_0000_0000), "f98000"),
            (0x7FF8_0000_0000_0000, "f97e00"),
            (0xFFF8_0400_0000_0000, "f9fe01"),
            (0x7FF8_0000_2000_0000, "fa7fc00001"),
            (0x7FF8_0000_0000_0001, "fb7ff8000000000001"),
            (0x3E70_0000_0000_0000, "f90001"),
            (0x3E60_0000_0000_0000, "fa33000000"),
            (0x40EF_FC00_0000_0000, "f97bff"),
            (0x40F0_0000_0000_0000, "fa47800000"),
            (0x47F0_0000_0000_0000, "fb47f0000000000000"),
            (0x36A0_0000_0000_0000, "fa00000001"),
            (0x0000_0000_0000_0001, "fb0000000000000001"),
        ] {
            let value = CBORValue.double(Double(bitPattern: bits))
            #expect(try value.encoded().hexadecimal == hex)
            #expect(try CBORValue(decoding: [UInt8](hexadecimal: hex)) == value)
        }
    }

    @Test("D16: every half-precision number comes back as the same half")
    func allHalves() throws {
        for bits in UInt16.min...UInt16.max {
            let bytes = [0xF9, UInt8(bits >> 8), UInt8(bits & 0xFF)]
            #expect(try CBORValue(decoding: bytes).encoded() == bytes)
        }
    }

    @Test("simple values that do not exist are not written", arguments: UInt8(24)..<32)
    func reservedSimpleValues(value: UInt8) {
        #expect(cborError { _ = try CBORValue.simple(value).encoded() }?.code == .badSimpleValue(value))
    }
}

/// Something that nests without end, to follow the input down.
struct Nest: Codable {
    let inner: [Nest]

    init(from decoder: any Decoder) throws {
        inner = try decoder.singleValueContainer().decode([Nest].self)
    }
}
