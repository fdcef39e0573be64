import JSONText
import Testing

@Suite("JSON5 reader")
struct JSON5ReaderTests {
    private static let accepted: [Accepted] = [
        .init("// a\n1", .unsigned(1)), .init("1 // a", .unsigned(1)), .init("/* a\n * b **/ 1 /**/", .unsigned(1)),
        .init("//\u{2028}1", .unsigned(1)),
        .init("[1,]", .array([.unsigned(1)])), .init("{a:1,}", .object(["a": .unsigned(1)])),
        .init("{a:1,/**/}", .object(["a": .unsigned(1)])),
        .init("{a_$1: 1}", .object(["a_$1": .unsigned(1)])),
        .init("{$: 1, _: 2}", .object(["$": .unsigned(1), "_": .unsigned(2)])),
        .init("{ünïcode: 1}", .object(["ünïcode": .unsigned(1)])),
        .init("{null: 1, true: 2}", .object(["null": .unsigned(1), "true": .unsigned(2)])),
        .init(#"{\u0061b: 1}"#, .object(["ab": .unsigned(1)])), .init("{'a b': 1}", .object(["a b": .unsigned(1)])),
        .init("'a'", .string("a")), .init("'\"'", .string("\"")),
        .init(#"'\''"#, .string("'")), .init(#"'\x41\xe9'"#, .string("Aé")), .init(#"'\v\0'"#, .string("\u{B}\0")),
        .init(#"'\a\é\😀'"#, .string("aé😀")), .init("'a\\\nb'", .string("ab")), .init("'a\\\r\nb'", .string("ab")),
        .init("'a\\\rb'", .string("ab")), .init("'\\\u{2028}b'", .string("b")),
        .init("'a\tb'", .string("a\tb")), .init("'\u{2028}'", .string("\u{2028}")), .init("'\\\n'", .string("")),
        .init("0x1F", .unsigned(31)), .init("0Xff", .unsigned(255)), .init("-0x1", .negative(0)),
        .init("+0xA", .unsigned(10)), .init("0xFFFFFFFFFFFFFFFF", .unsigned(.max)),
        .init("-0x10000000000000000", .negative(.max)), .init("-0x00FFFFFFFFFFFFFFFF", .negative(.max - 1)),
        .init("+1", .unsigned(1)), .init("+1.5", .number(1.5)), .init(".5", .number(0.5)), .init("-.5", .number(-0.5)),
        .init("5.", .number(5)), .init("5.e1", .number(50)), .init("+.5e1", .number(5)),
        .init("\u{B}\u{C}\u{A0}\u{2003}\u{3000}\u{2029}1\u{FEFF}", .unsigned(1)),
    ]

    @Test("accepts what JSON5 adds, which JSON refuses", arguments: accepted)
    private func accepts(_ example: Accepted) throws {
        let value = PlainJSON(try JSONReader(dialect: .json5).read(example.text))
        #expect(example.check(value), "\(value)")
        // Only a line separator in a string is fine in both.
        if example.text != "'\u{2028}'" {
            #expect(throws: JSONError.self) { try JSONReader().read(example.text) }
        }
    }

    private static let rejected: [Rejected] = [
        .init("", .endOfText, 0), .init("//", .endOfText, 2), .init("/", .unexpectedCharacter, 0),
        .init("/*", .endOfText, 2), .init("/*/", .endOfText, 3), .init("1 /* *", .endOfText, 6),
        .init("# a", .unexpectedCharacter, 0),
        .init("NaN", .invalidNumber, 0), .init("-Infinity", .invalidNumber, 1), .init("+NaN", .invalidNumber, 1),
        .init("[Infinity]", .invalidNumber, 1),
        .init("[,]", .unexpectedCharacter, 1), .init("[1,,]", .unexpectedCharacter, 3),
        .init("{,}", .unexpectedCharacter, 1), .init("{a:1,,}", .unexpectedCharacter, 5),
        .init("{a}", .unexpectedCharacter, 2), .init("{1a:1}", .unexpectedCharacter, 1),
        .init("{a-b:1}", .unexpectedCharacter, 2), .init(#"{\u0020:1}"#, .invalidEscape, 1),
        .init(#"{\x41:1}"#, .invalidEscape, 1), .init(#"{\x0041:1}"#, .invalidEscape, 1),
        .init("{a:1,'a':2}", .duplicateKey, 5), .init("{", .endOfText, 1),
        .init("{a", .endOfText, 2),
        .init("'a\"", .endOfText, 3), .init("'a\nb'", .controlCharacter, 2), .init("'\0'", .wrongEncoding, 1),
        .init("[\"\0\"]", .controlCharacter, 2), .init("'\u{1}'", .controlCharacter, 1),
        .init(#"'\1'"#, .invalidEscape, 1), .init(#"'\01'"#, .invalidEscape, 1),
        .init(#"'\xg1'"#, .invalidEscape, 1), .init("'\\\u{1}'", .controlCharacter, 2),
        .init(#"'\ud800'"#, .loneSurrogate, 1),
        .init(".", .invalidNumber, 0), .init("+", .endOfText, 1), .init("[.]", .invalidNumber, 1),
        .init("+-1", .invalidNumber, 1), .init(".e1", .invalidNumber, 0), .init("010", .invalidNumber, 0),
        .init("0x", .endOfText, 2), .init("0xg", .invalidNumber, 2),
        .init("0x1.5", .invalidNumber, 3), .init("0x10000000000000000", .numberOutOfRange, 0),
        .init("-0x18446744073709551616", .numberOutOfRange, 0), .init("-0x10000000000000001", .numberOutOfRange, 0),
        .init("18446744073709551616", .numberOutOfRange, 0), .init("true false", .trailingContent, 5),
        .init("\u{FEFF}1", .byteOrderMark, 0),
    ]

    @Test("refuses what JSON5 does not allow, and says at which byte", arguments: rejected)
    private func rejects(_ example: Rejected) throws {
        let error = try #require(throws: JSONError.self) { try JSONReader(dialect: .json5).read(example.bytes) }
        #expect(error.kind == example.kind, "\(error)")
        #expect(error.offset == example.offset, "\(error)")
    }
}
