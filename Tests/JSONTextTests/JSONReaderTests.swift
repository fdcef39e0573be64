import JSONText
import Testing

/// The value without its locations, for comparisons.
indirect enum PlainJSON: Equatable {
    case null
    case bool(Bool)
    case unsigned(UInt64)
    case negative(UInt64)
    case number(Double)
    case string(String)
    case array([PlainJSON])
    case object([String: PlainJSON])

    init(_ node: JSONNode) {
        switch node.value {
        case .null: self = .null
        case .bool(let bool): self = .bool(bool)
        case .unsigned(let number): self = .unsigned(number)
        case .negative(let number): self = .negative(number)
        case .number(let number): self = .number(number)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map(PlainJSON.init))
        case .object(let members):
            self = .object(Dictionary(members.map { ($0.key, PlainJSON($0.node)) }) { first, _ in first })
        }
    }
}

struct Accepted: Sendable, CustomTestStringConvertible {
    let text: String
    let check: @Sendable (PlainJSON) -> Bool

    init(_ text: String, _ value: @autoclosure @escaping @Sendable () -> PlainJSON) {
        self.text = text
        self.check = { $0 == value() }
    }

    var testDescription: String { JSONEscaping.quoted(text) }
}

struct Rejected: Sendable, CustomTestStringConvertible {
    let bytes: [UInt8]
    let kind: JSONError.Kind
    let offset: Int

    init(_ text: String, _ kind: JSONError.Kind, _ offset: Int) {
        self.init(Array(text.utf8), kind, offset)
    }

    init(_ bytes: [UInt8], _ kind: JSONError.Kind, _ offset: Int) {
        self.bytes = bytes
        self.kind = kind
        self.offset = offset
    }

    var testDescription: String { JSONEscaping.quoted(String(decoding: bytes.prefix(60), as: UTF8.self)) }
}

@Suite("JSON reader")
struct JSONReaderTests {
    private static let accepted: [Accepted] = [
        .init("null", .null), .init("true", .bool(true)), .init("false", .bool(false)),
        .init("0", .unsigned(0)), .init("-0", .unsigned(0)), .init("7", .unsigned(7)), .init("-1", .negative(0)),
        .init("9007199254740993", .unsigned(9_007_199_254_740_993)),
        .init("9223372036854775807", .unsigned(UInt64(Int64.max))),
        .init("9223372036854775808", .unsigned(1 << 63)),
        .init("18446744073709551615", .unsigned(.max)),
        .init("-9223372036854775808", .negative(UInt64(Int64.max))),
        .init("-9223372036854775809", .negative(1 << 63)),
        .init("-18446744073709551616", .negative(.max)),
        .init("-0.0", .number(-0.0)), .init("1.0", .number(1)), .init("1.5", .number(1.5)), .init("1e3", .number(1000)),
        .init("1E+2", .number(100)), .init("1e-2", .number(0.01)), .init("0e1", .number(0)), .init("0.1e1", .number(1)),
        .init("123.456e78", .number(123.456e78)), .init("1.7976931348623157e308", .number(.greatestFiniteMagnitude)),
        .init("5e-324", .number(.leastNonzeroMagnitude)), .init("1e-400", .number(0)),
        .init("18446744073709551616.0", .number(0x1p64)), .init("0e99999999999999999999", .number(0)),
        .init("0.1", .number(0.1)), .init("2.2250738585072011e-308", .number(.leastNormalMagnitude.nextDown)),
        .init("\"\"", .string("")), .init("\"a\"", .string("a")),
        .init(#""\"\\\/\b\f\n\r\t""#, .string("\"\\/\u{8}\u{C}\n\r\t")),
        .init(#""\u0041""#, .string("A")), .init(#""\u00e9""#, .string("é")), .init(#""\u0000""#, .string("\0")),
        .init(#""\ud83d\ude00""#, .string("😀")), .init(#""\uD834\uDD1Ex""#, .string("\u{1D11E}x")),
        .init("\"é😀\"", .string("é😀")),
        .init("\"\u{7F}\u{80}\u{2028}\u{FEFF}\"", .string("\u{7F}\u{80}\u{2028}\u{FEFF}")),
        .init(#""\uFFFF""#, .string("\u{FFFF}")),
        .init("[]", .array([])), .init("[ ]", .array([])), .init("[1]", .array([.unsigned(1)])),
        .init("[1,\"2\",null]", .array([.unsigned(1), .string("2"), .null])),
        .init("[[],[[]]]", .array([.array([]), .array([.array([])])])),
        .init("{}", .object([:])), .init("{ }", .object([:])), .init("{\"a\":1}", .object(["a": .unsigned(1)])),
        .init("{\"a\":{\"a\":[]},\"b\":2}", .object(["a": .object(["a": .array([])]), "b": .unsigned(2)])),
        .init("{\"\":0}", .object(["": .unsigned(0)])),
        .init(" \t\r\n[ 1 , 2 ] \n", .array([.unsigned(1), .unsigned(2)])),
        .init("{\"a\" : true}", .object(["a": .bool(true)])),
        .init("{\"//\":\"/*\"}", .object(["//": .string("/*")])),
    ]

    @Test("accepts what RFC 8259 allows", arguments: accepted)
    private func accepts(_ example: Accepted) throws {
        let value = PlainJSON(try JSONReader().read(example.text))
        #expect(example.check(value), "\(value)")
        // Plain JSON is also JSON5, with the same value.
        #expect(PlainJSON(try JSONReader(dialect: .json5).read(example.text)) == value)
    }

    private static let rejected: [Rejected] = [
        .init("", .endOfText, 0), .init("  ", .endOfText, 2), .init("nul", .unexpectedCharacter, 0),
        .init("nulll", .unexpectedCharacter, 0),
        .init("True", .unexpectedCharacter, 0), .init("undefined", .unexpectedCharacter, 0),
        .init("null x", .trailingContent, 5),
        .init("1 2", .trailingContent, 2), .init("[]]", .trailingContent, 2), .init("{}}", .trailingContent, 2),
        .init("\"a\"b", .trailingContent, 3),
        .init("01", .invalidNumber, 0), .init("-01", .invalidNumber, 1), .init("00.5", .invalidNumber, 0),
        .init("+1", .invalidNumber, 0), .init(".5", .invalidNumber, 0),
        .init("5.", .endOfText, 2), .init("[5.]", .invalidNumber, 3), .init("1.e3", .invalidNumber, 2),
        .init("-", .endOfText, 1), .init("[-]", .invalidNumber, 2),
        .init("-a", .invalidNumber, 1), .init("--1", .invalidNumber, 1), .init("1e", .endOfText, 2),
        .init("1e+", .endOfText, 3), .init("[1e]", .invalidNumber, 3),
        .init("1e1.5", .invalidNumber, 3), .init("1.2.3", .invalidNumber, 3), .init("0x10", .invalidNumber, 1),
        .init("1a", .invalidNumber, 1), .init("1_000", .invalidNumber, 1),
        .init("NaN", .invalidNumber, 0), .init("Infinity", .invalidNumber, 0), .init("-Infinity", .invalidNumber, 1),
        .init("[nan]", .unexpectedCharacter, 1),
        .init("18446744073709551616", .numberOutOfRange, 0), .init("[-18446744073709551617]", .numberOutOfRange, 1),
        .init("[1,99999999999999999999999]", .numberOutOfRange, 3), .init("1e309", .numberOutOfRange, 0),
        .init("-1e400", .numberOutOfRange, 0),
        .init("1e99999999999999999999999", .numberOutOfRange, 0), .init("1.7976931348623159e308", .numberOutOfRange, 0),
        .init("\"", .endOfText, 1), .init("\"abc", .endOfText, 4), .init("\"a\\", .endOfText, 3),
        .init("\"a\\\"", .endOfText, 4),
        .init("\"\\x41\"", .invalidEscape, 1), .init("\"\\a\"", .invalidEscape, 1), .init("\"\\0\"", .invalidEscape, 1),
        .init("\"\\'\"", .invalidEscape, 1), .init("\"ab\\é\"", .invalidEscape, 3),
        .init("\"\\u12\"", .invalidEscape, 1), .init("\"\\u12G4\"", .invalidEscape, 1), .init("\"\\u", .endOfText, 3),
        .init("\"\\U0041\"", .invalidEscape, 1),
        .init(#""\ud800""#, .loneSurrogate, 1), .init(#""ab\udc00""#, .loneSurrogate, 3),
        .init(#""\ud800x""#, .loneSurrogate, 1), .init(#""\ud800\n""#, .loneSurrogate, 1),
        .init(#""\ud800\ud800""#, .loneSurrogate, 1), .init(#""\ud800\u0041""#, .loneSurrogate, 1),
        .init(#""\ude00\ud83d""#, .loneSurrogate, 1), .init(#""\ud800\u12""#, .invalidEscape, 7),
        .init("\"a\nb\"", .controlCharacter, 2), .init("\"a\tb\"", .controlCharacter, 2),
        .init("\"a\u{1F}b\"", .controlCharacter, 2), .init("\"abc\0\"", .controlCharacter, 4),
        .init("[1,\0]", .unexpectedCharacter, 3), .init("'a'", .unexpectedCharacter, 0),
        .init("[", .endOfText, 1), .init("[1", .endOfText, 2), .init("[1,", .endOfText, 3),
        .init("[,", .unexpectedCharacter, 1), .init("[1,]", .unexpectedCharacter, 3),
        .init("[,1]", .unexpectedCharacter, 1),
        .init("[1 2]", .unexpectedCharacter, 3), .init("[1,,2]", .unexpectedCharacter, 3),
        .init("[1}", .unexpectedCharacter, 2), .init("[\"a\":1]", .unexpectedCharacter, 4),
        .init("]", .unexpectedCharacter, 0),
        .init("{", .endOfText, 1), .init("{\"a\"", .endOfText, 4), .init("{\"a\":", .endOfText, 5),
        .init("{\"a\":1", .endOfText, 6), .init("{\"a\":1,", .endOfText, 7), .init("{,}", .unexpectedCharacter, 1),
        .init("{\"a\":1,}", .unexpectedCharacter, 7), .init("{\"a\" 1}", .unexpectedCharacter, 5),
        .init("{\"a\"}", .unexpectedCharacter, 4), .init("{a:1}", .unexpectedCharacter, 1),
        .init("{1:1}", .unexpectedCharacter, 1),
        .init("{null:1}", .unexpectedCharacter, 1), .init("{'a':1}", .unexpectedCharacter, 1),
        .init("{\"a\":}", .unexpectedCharacter, 5), .init("{\"a\":1]", .unexpectedCharacter, 6),
        .init("{\"a\"::1}", .unexpectedCharacter, 5),
        .init("{\"a\":1,\"a\":2}", .duplicateKey, 7), .init(#"{"a":1,"\u0061":2}"#, .duplicateKey, 7),
        .init("{\"a\":1,\"b\":{\"c\":1,\"c\":1}}", .duplicateKey, 18),
        .init("// a\n1", .unexpectedCharacter, 0), .init("1 /* a */", .trailingContent, 2),
        .init("#1", .unexpectedCharacter, 0),
        .init("[\u{A0}1]", .unexpectedCharacter, 1), .init("[1\u{2028}]", .unexpectedCharacter, 2),
        .init("[\u{C}1]", .unexpectedCharacter, 1), .init("é", .unexpectedCharacter, 0),
        .init("\u{FEFF}1", .byteOrderMark, 0), .init("[\u{FEFF}1]", .unexpectedCharacter, 1),
        .init([0xEF, 0xBB, 0xBF], .byteOrderMark, 0),
        .init([0xFF, 0xFE, 0x5B, 0, 0x5D, 0], .wrongEncoding, 0),
        .init([0xFE, 0xFF, 0, 0x5B, 0, 0x5D], .wrongEncoding, 0), .init([0x5B, 0, 0x5D, 0], .wrongEncoding, 1),
        .init([0, 0x5B, 0, 0x5D], .wrongEncoding, 0), .init([0, 0, 0, 0x31], .wrongEncoding, 0),
        .init([0x31, 0, 0, 0], .wrongEncoding, 1), .init([0], .unexpectedCharacter, 0),
        .init([0x22, 0xFF, 0x22], .invalidUTF8, 1), .init([0x22, 0xC3, 0x22], .invalidUTF8, 1),
        .init([0x22, 0x80, 0x22], .invalidUTF8, 1), .init([0x22, 0xC0, 0x80, 0x22], .invalidUTF8, 1),
        .init([0x22, 0xED, 0xA0, 0x80, 0x22], .invalidUTF8, 1), .init([0x22, 0xE0, 0x80, 0x80, 0x22], .invalidUTF8, 1),
        .init([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], .invalidUTF8, 1),
        .init([0x22, 0x61, 0xF0, 0x9F, 0x98], .invalidUTF8, 2), .init([0x5B, 0x31, 0x2C, 0xFE, 0x5D], .invalidUTF8, 3),
    ]

    @Test("D19: refuses what RFC 8259 does not allow, and says at which byte", arguments: rejected)
    private func rejects(_ example: Rejected) throws {
        let error = try #require(throws: JSONError.self) { try JSONReader().read(example.bytes) }
        #expect(error.kind == example.kind, "\(error)")
        #expect(error.offset == example.offset, "\(error)")
        #expect(error.message.contains("found"), "\(error)")
    }

    @Test("counts lines from every kind of line end, and columns in scalars")
    func locatesNodes() throws {
        let root = try JSONReader().read("{\n \"é\": 1,\r\n\t\"b\":\r[\"😀\", 2]}")
        guard case .object(let members) = root.value else {
            Issue.record("found no object")
            return
        }
        #expect(root.location == JSONLocation(line: 1, column: 1, offset: 0))
        #expect(members[0].keyLocation == JSONLocation(line: 2, column: 2, offset: 3))
        #expect(members[0].node.location == JSONLocation(line: 2, column: 7, offset: 9))
        #expect(members[1].keyLocation == JSONLocation(line: 3, column: 2, offset: 14))
        #expect(members[1].node.location == JSONLocation(line: 4, column: 1, offset: 19))
        guard case .array(let elements) = members[1].node.value else {
            Issue.record("found no array")
            return
        }
        #expect(elements[1].location == JSONLocation(line: 4, column: 7, offset: 28))
    }

    @Test("names both places of a key that stands twice, among few keys and among many", arguments: [2, 8, 9, 10, 500])
    func namesBothPlaces(count: Int) throws {
        let keys = (0..<count - 1).map { "\"k\($0)\": 0,\n" }.joined()
        for twice in [0, count - 2] {
            let error = try #require(throws: JSONError.self) { try JSONReader().read("{\n\(keys)\"k\(twice)\": 1}") }
            #expect(error.kind == .duplicateKey)
            #expect(error.line == count + 1)
            #expect(
                error.message
                    == "found the key \"k\(twice)\" a second time, it stands first at line \(twice + 2), column 1"
            )
        }
    }

    @Test("an error shows the beginning of a key that is long", arguments: ["%, 1}", "%: 1, %: 2}"])
    func cutsLongKeys(_ form: String) throws {
        let key = "\"\(String(repeating: "\u{7F}", count: 10_000))\""
        let text = "{" + form.split(separator: "%", omittingEmptySubsequences: false).joined(separator: key)
        let error = try #require(throws: JSONError.self) { try JSONReader().read(text) }
        #expect(error.message.contains("the key ") && error.message.utf8.count < 400)
    }

    @Test("takes keys that differ in their scalars as two, also where String holds them equal")
    func tellsNormalizationFormsApart() throws {
        guard case .object(let members) = try JSONReader().read("{\"\u{E9}\": 1, \"e\u{301}\": 2}").value else {
            Issue.record("found no object")
            return
        }
        #expect(members.count == 2)
    }

    @Test("a sentence says what was found and what was expected")
    func describesErrors() {
        func message(_ text: String) -> String {
            do {
                return "\(try JSONReader().read(text))"
            } catch {
                return error.description
            }
        }
        #expect(
            message("[1,\n 2 x]")
                == "line 2, column 4 (byte 7): found \"x\", expected \",\" or \"]\" in the array that begins at line 1, column 1"
        )
        #expect(message("// a") == "line 1, column 1 (byte 0): found \"/\" (JSON has no comments), expected a value")
        #expect(
            message("[1,")
                == "line 1, column 4 (byte 3): found the end of the text in the array that begins at line 1, column 1"
        )
        #expect(message("[\u{A0}]") == "line 1, column 2 (byte 1): found the character U+00A0, expected a value")
        #expect(message("[é]") == "line 1, column 2 (byte 1): found \"é\" (U+00E9), expected a value")
        #expect(
            message("18446744073709551616")
                == "line 1, column 1 (byte 0): number out of range: found 18446744073709551616, expected an integer from -2^64 to 2^64 - 1"
        )
    }
}

@Suite("JSON reader under load")
struct JSONReaderLoadTests {
    @Test("nesting up to the limit is read, one more is refused", arguments: [1, 10, 64])
    func limitsDepth(limit: Int) throws {
        let reader = JSONReader(maximumDepth: limit)
        let text = String(repeating: "[", count: limit) + String(repeating: "]", count: limit)
        #expect(throws: Never.self) { try reader.read(text) }
        let error = try #require(throws: JSONError.self) { try reader.read("[\(text)]") }
        #expect(error.kind == .tooDeep)
        #expect(error.offset == limit)
    }

    @Test("D19: nesting of 100,000 is refused at the limit", arguments: ["[", "{\"a\":", "[{\"a\":"])
    func refusesGreatDepth(opening: String) throws {
        let error = try #require(throws: JSONError.self) {
            try JSONReader(dialect: .json5, maximumDepth: .max).read(String(repeating: opening, count: 100_000))
        }
        #expect(error.kind == .tooDeep)
    }

    @Test("D19: a million digits are refused as an integer and rounded with a fraction", .timeLimit(.minutes(5)))
    func readsEndlessNumbers() throws {
        let digits = String(repeating: "7", count: 1_000_000)
        let error = try #require(throws: JSONError.self) { try JSONReader().read("[\(digits)]") }
        #expect(error.kind == .numberOutOfRange)
        #expect(error.offset == 1)
        #expect(error.message.utf8.count < 200)
        #expect(try JSONReader().read("0.\(digits)").value == .number(0.7777777777777778))
        #expect(try JSONReader().read("\(digits)e-999999").value == .number(7.777777777777778))
        #expect(throws: JSONError.self) { try JSONReader().read("\(digits).5") }
        #expect(throws: JSONError.self) { try JSONReader().read("1e\(digits)") }
        #expect(try JSONReader().read("1e-\(digits)").value == .number(0))
        #expect(try JSONReader().read("0.\(String(repeating: "0", count: 1_000_000))1e1000001").value == .number(1))
    }

    @Test("digits far behind still decide a tie between two doubles")
    func roundsCorrectly() throws {
        // 1 + 2^-53 lies in the middle between 1 and the next double, and is rounded to the even one.
        let tie = "1.00000000000000011102230246251565404236316680908203125"
        let zeros = String(repeating: "0", count: 2000)
        #expect(try JSONReader().read(tie).value == .number(1))
        #expect(try JSONReader().read(tie + zeros).value == .number(1))
        #expect(try JSONReader().read(tie + zeros + "1").value == .number(1.0.nextUp))
        #expect(try JSONReader(dialect: .json5).read(tie + zeros + "1").value == .number(1.0.nextUp))
    }

    @Test("wide and long texts are read in one walk", .timeLimit(.minutes(5)))
    func readsLargeTexts() throws {
        let wide = "{" + (0..<100_000).map { "\"key\($0)\":[]" }.joined(separator: ",") + "}"
        guard case .object(let members) = try JSONReader().read(wide).value else {
            Issue.record("found no object")
            return
        }
        #expect(members.count == 100_000)
        let escapes = "\"" + String(repeating: "\\n", count: 1_000_000) + "\""
        #expect(throws: Never.self) { try JSONReader().read(escapes) }
        let comments = String(repeating: "/**/", count: 250_000) + "1"
        #expect(throws: Never.self) { try JSONReader(dialect: .json5).read(comments) }
    }
}
