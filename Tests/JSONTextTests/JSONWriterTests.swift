import CBOR
import JSONText
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct Written: Sendable, CustomTestStringConvertible {
    let value: CBORValue
    let text: String

    init(_ value: CBORValue, _ text: String) {
        self.value = value
        self.text = text
    }

    var testDescription: String { text }
}

@Suite("JSON writer")
struct JSONWriterTests {
    private static let uuid: [UInt8] = [
        0x12, 0x3E, 0x45, 0x67, 0xE8, 0x9B, 0x12, 0xD3, 0xA4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0xAF,
    ]

    private static func extended(_ seconds: UInt64, _ nanoseconds: UInt64?) -> CBORValue {
        var pairs = [CBORValue.Entry(key: .unsigned(1), value: .unsigned(seconds))]
        if let nanoseconds { pairs.append(.init(key: .negative(8), value: .unsigned(nanoseconds))) }
        return .tagged(1001, .map(pairs))
    }

    private static let written: [Written] = [
        .init(.unsigned(.max), "18446744073709551615"), .init(.negative(.max), "-18446744073709551616"),
        .init(.negative(UInt64(Int64.max)), "-9223372036854775808"),
        .init(.unsigned(9_007_199_254_740_993), "9007199254740993"),
        .init(.double(5), "5.0"), .init(.double(-0.0), "-0.0"), .init(.double(0.1), "0.1"),
        .init(.double(1e300), "1e+300"),
        .init(.double(.nan), "\"NaN\""), .init(.double(.infinity), "\"Infinity\""),
        .init(.double(-.infinity), "\"-Infinity\""),
        .init(.null, "null"), .init(.undefined, "null"), .init(.simple(16), "null"), .init(.bool(true), "true"),
        .init(.text("a\"\\/\n\u{1}\u{7F}\u{9B}é😀"), "\"a\\\"\\\\/\\n\\u0001\\u007F\\u009Bé😀\""),
        .init(.text("\u{C0}\u{A0}\u{800}\u{85}"), "\"\u{C0}\u{A0}\u{800}\\u0085\""),
        .init(.bytes([]), "\"\""), .init(.bytes([0]), "\"AA==\""), .init(.bytes([0xFF, 0xFE]), "\"//4=\""),
        .init(.bytes(Array("foobar".utf8)), "\"Zm9vYmFy\""),
        .init(.array([]), "[]"), .init(.array([.unsigned(1), .null]), "[1,null]"), .init(.map([]), "{}"),
        .init(
            .map([.init(key: .text("a"), value: .unsigned(1)), .init(key: .text("b"), value: .array([]))]),
            "{\"a\":1,\"b\":[]}"
        ),
        .init(
            .map([
                .init(key: .unsigned(1), value: .null), .init(key: .bytes([0]), value: .null),
                .init(key: .array([.text("x")]), value: .null), .init(key: .bool(true), value: .null),
                .init(key: .tagged(37, .bytes(uuid)), value: .null),
            ]),
            #"{"1":null,"AA==":null,"[\"x\"]":null,"true":null,"123E4567-E89B-12D3-A456-4266141740AF":null}"#
        ),
        .init(.tagged(0, .text("2013-03-21T20:04:00Z")), "\"2013-03-21T20:04:00Z\""),
        .init(.tagged(1, .unsigned(1_363_896_240)), "\"2013-03-21T20:04:00Z\""),
        .init(.tagged(1, .double(1_363_896_240.5)), "\"2013-03-21T20:04:00.500Z\""),
        .init(.tagged(1, .double(1_363_896_240.123456)), "\"2013-03-21T20:04:00.123456Z\""),
        .init(.tagged(1, .double(1_363_896_239.9999999)), "\"2013-03-21T20:04:00Z\""),
        .init(.tagged(1, .double(1_363_896_240 + 0x1p-22)), "\"2013-03-21T20:04:00.000000238Z\""),
        .init(extended(1_363_896_240, 5), "\"2013-03-21T20:04:00.000000005Z\""),
        .init(extended(1_363_896_240, 120_000_000), "\"2013-03-21T20:04:00.120000000Z\""),
        .init(extended(1_363_896_240, nil), "\"2013-03-21T20:04:00Z\""),
        .init(extended(1_363_896_240, 1_000_000_000), "{\"1\":1363896240,\"-9\":1000000000}"),
        .init(
            .tagged(
                1001,
                .map([
                    .init(key: .unsigned(1), value: .double(978_307_200 + 1.0 / 3)),
                    .init(key: .text("since2001"), value: .double(1.0 / 3)),
                ])
            ),
            "\"2001-01-01T00:00:00.333333333Z\""
        ),
        .init(.tagged(1, .unsigned(0)), "\"1970-01-01T00:00:00Z\""),
        .init(.tagged(1, .negative(0)), "\"1969-12-31T23:59:59Z\""),
        .init(.tagged(1, .double(-0.25)), "\"1969-12-31T23:59:59.750Z\""),
        .init(.tagged(1, .unsigned(951_782_400)), "\"2000-02-29T00:00:00Z\""),
        .init(.tagged(1, .negative(2_203_891_199)), "\"1900-03-01T00:00:00Z\""),
        .init(.tagged(1, .unsigned(253_402_300_799)), "\"9999-12-31T23:59:59Z\""),
        .init(.tagged(1, .negative(62_167_219_199)), "\"0000-01-01T00:00:00Z\""),
        .init(.tagged(1, .unsigned(253_402_300_800)), "253402300800"),
        .init(.tagged(1, .double(253_402_300_799.9999999)), "253402300800.0"),
        .init(.tagged(1, .double(1e300)), "1e+300"), .init(.tagged(1, .double(.nan)), "\"NaN\""),
        .init(.tagged(1, .unsigned(.max)), "18446744073709551615"), .init(.tagged(1, .text("x")), "\"x\""),
        .init(.tagged(2, .bytes([1, 0, 0, 0, 0, 0, 0, 0, 0])), "18446744073709551616"),
        .init(.tagged(3, .bytes([1, 0, 0, 0, 0, 0, 0, 0, 0])), "-18446744073709551617"),
        .init(.tagged(2, .bytes([0, 0, 5])), "5"), .init(.tagged(2, .bytes([])), "0"),
        .init(.tagged(3, .bytes([])), "-1"), .init(.tagged(3, .bytes([0x3B, 0x9A, 0xC9, 0xFF])), "-1000000000"),
        .init(.tagged(2, .bytes([UInt8](repeating: 255, count: 16))), "340282366920938463463374607431768211455"),
        .init(.tagged(2, .text("x")), "\"x\""),
        .init(.tagged(4, .array([.negative(1), .unsigned(27315)])), "273.15"),
        .init(.tagged(4, .array([.negative(1), .negative(4)])), "-0.05"),
        .init(.tagged(4, .array([.unsigned(0), .unsigned(7)])), "7"),
        .init(.tagged(4, .array([.unsigned(3), .unsigned(7)])), "7e3"),
        .init(
            .tagged(4, .array([.unsigned(0), .tagged(2, .bytes([1, 0, 0, 0, 0, 0, 0, 0, 0]))])),
            "18446744073709551616.0"
        ),
        .init(.tagged(4, .array([.negative(UInt64(Int64.max)), .unsigned(1)])), "1e-9223372036854775808"),
        .init(.tagged(4, .array([.negative(.max), .unsigned(1)])), "[-18446744073709551616,1]"),
        .init(.tagged(4, .array([.negative(40), .unsigned(1)])), "1e-41"),
        .init(.tagged(4, .array([.negative(0), .unsigned(0)])), "0.0"), .init(.tagged(4, .text("x")), "\"x\""),
        .init(.tagged(32, .text("https://example.org/")), "\"https://example.org/\""),
        .init(.tagged(37, .bytes(uuid)), "\"123E4567-E89B-12D3-A456-4266141740AF\""),
        .init(.tagged(37, .bytes([1])), "\"AQ==\""),
        .init(.tagged(55_799, .tagged(9999, .unsigned(1))), "1"),
    ]

    @Test("writes what JSON can say exactly, and the rest in its customary form", arguments: written)
    private func writes(_ example: Written) {
        #expect(JSONWriter().text(example.value) == example.text)
    }

    @Test("a big integer beyond 512 bits is written as base64 text, not as digits")
    func limitsBigIntegers() {
        #expect(JSONWriter().text(.tagged(2, .bytes([UInt8](repeating: 0xFF, count: 64)))).utf8.count == 155)
        #expect(JSONWriter().text(.tagged(2, .bytes([UInt8](repeating: 0xFF, count: 65)))).first == "\"")
    }

    @Test("keys that are maps, in keys that are maps, take no more room than they have bytes")
    func writesKeysInKeys() throws {
        let one = CBORValue.map([.init(key: .map([.init(key: .unsigned(1), value: .bool(true))]), value: .null)])
        #expect(JSONWriter().text(one) == #"{"{\"1\":true}":null}"#)
        for depth in [8, 20, 63] {
            let nested = (0..<depth).reduce(CBORValue.unsigned(0)) { key, _ in .map([.init(key: key, value: .null)]) }
            let text = JSONWriter().text(nested)
            #expect(text.utf8.count < 500)
            #expect(throws: Never.self) { try JSONReader().read(text) }
        }
    }

    @Test("indents by two spaces when pretty, and breaks no line otherwise")
    func writesPretty() {
        let value = CBORValue.map([
            .init(key: .text("a"), value: .array([.unsigned(1), .map([])])),
            .init(key: .text("b\n"), value: .array([])),
        ])
        #expect(JSONWriter(pretty: true).text(value) == "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\\n\": []\n}")
        #expect(!JSONWriter().text(value).contains { $0.isNewline })
    }

    @Test("dates of other years than 2001 come back equal from their text")
    func keepsDates() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<20_000 {
            let years = Bool.random(using: &random) ? -978_307_200.0...(-1e7) : 1e7...8e9
            for date in [
                Date(timeIntervalSinceReferenceDate: .random(in: years, using: &random)),
                Date(timeIntervalSince1970: Double(Int64.random(in: 0...4_200_000_000_000_000, using: &random)) / 1e6),
            ] {
                let text = JSONWriter().text(try CBORValue(decoding: CBOREncoder().encode(date)))
                let back = try CBORDecoder().decode(Date.self, from: JSONReader().read(text).cborValue.encoded())
                #expect(back == date, "\(text) \(date.timeIntervalSinceReferenceDate)")
            }
        }
    }

    private static let integers: [UInt64] = [
        0, 1, 0x20_0000_0000_0000, 0x20_0000_0000_0001, 0x4000_0000_0000_0001, 0x7FFF_FFFF_FFFF_FFFF,
        0x8000_0000_0000_0000, .max - 1, .max,
    ]

    @Test("integers come back to the last bit", arguments: integers)
    private func keepsIntegers(number: UInt64) throws {
        for value in [CBORValue.unsigned(number), .negative(number)] {
            let text = JSONWriter().text(.array([value]))
            #expect(try JSONReader().read(text).cborValue == .array([value]))
        }
    }

    @Test("D21: random values that JSON can say come back the same, compact and pretty")
    func bringsBackRandomValues() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<2000 {
            let value = random.value(depth: 4)
            for pretty in [false, true] {
                let text = JSONWriter(pretty: pretty).text(value)
                #expect(try JSONReader().read(text).cborValue == value, "seed \(random.seed): \(text)")
            }
        }
    }
}

@Suite("JSON reader with mutants")
struct JSONMutantTests {
    private static let originals = [
        #"{"specversion":"1.0","id":"a-1","source":"canvas","type":"BoxOrdered","time":"2025-01-01T00:00:00Z","data":{"boxID":9223372036854775807,"label":"Büch\u00e9r \ud83d\ude00","x":[-1.5e-3,true,null,{}]}}"#,
        "// a\n{a: 'b\\\n', \"c\": [+1, .5, 5., 0x1F,], /* d */ $e_1: '\\x41\\u0041', f: -18446744073709551616,}",
    ]

    @Test("D20, D21: 100,000 mutants are read or refused, and come back the same", .timeLimit(.minutes(20)))
    func survivesMutants() throws {
        var random = SeededGenerator.announced()
        let snippets = [
            "\"", "\\u", "\\ud800", "{", "}", "[", "]", ",", ":", "1e", "0x", "//", "/*", "\0", "\u{FEFF}",
            "9999999999", "\u{2028}", "-",
        ].map { Array($0.utf8) }
        for round in 0..<rounds(100_000) {
            var bytes = Array(Self.originals[round % 2].utf8)
            for _ in 0...random.below(3) {
                let place = random.below(bytes.count)
                switch random.below(5) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes[place] ^= 1 << UInt8(random.below(8))
                case 2: bytes.insert(contentsOf: snippets[random.below(snippets.count)], at: place)
                case 3: bytes.removeSubrange(place..<min(bytes.count, place + 1 + random.below(8)))
                default: bytes.removeLast(random.below(bytes.count))
                }
                if bytes.isEmpty {
                    bytes = [0]
                }
            }
            for dialect in [JSONReader.Dialect.json, .json5] {
                do {
                    let value = try JSONReader(dialect: dialect).read(bytes).cborValue
                    let text = JSONWriter().text(value)
                    if try JSONReader().read(text).cborValue != value {
                        Issue.record("seed \(random.seed), round \(round): \(text) reads back as another value")
                    }
                } catch {
                    if !(0...bytes.count).contains(error.offset) {
                        Issue.record("seed \(random.seed), round \(round): \(error) lies outside the text")
                    }
                }
            }
        }
    }
}
