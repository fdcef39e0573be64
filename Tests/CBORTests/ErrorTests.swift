import CBOR
import Testing

private struct Order: Codable {
    struct Line: Codable {
        var title: String
        var mood: Mood?
        var change: Change?
    }
    enum Mood: String, Codable { case calm, cross }
    enum Change: Codable { case saved(Int) }

    var items: [Line]
}

@Suite("Errors")
struct ErrorTests {
    private func error(_ line: CBORValue.Entry...) throws -> CBORError? {
        let items = CBORValue.array([.map([.init(key: "title", value: "t")]), .map(line)])
        let bytes = try CBORValue.map([.init(key: "extra", value: 1), .init(key: "items", value: items)]).encoded()
        return cborError { _ = try CBORDecoder().decode(Order.self, from: bytes) }
    }

    @Test("a wrong type is told with path, byte, and what was there")
    func typeMismatch() throws {
        let found = try error(.init(key: "title", value: 7))
        #expect(found?.code == .typeMismatch(expected: "a text string", found: "the integer 7"))
        #expect(found?.path == "items[1].title")
        #expect(found?.description == "Expected a text string but found the integer 7 at items[1].title (byte 31).")
        #expect(found?.sentenceOfValue == "Expected a text string but found the integer 7 at items[1].title.")
    }

    @Test("a missing key is told with the path of its map")
    func missingKey() throws {
        let found = try error(.init(key: "mood", value: "calm"))
        #expect(found?.code == .missingKey("title"))
        #expect(found?.path == "items[1]")
        #expect(found?.description.contains("\"title\" is missing at items[1] (byte ") == true)
    }

    @Test("an unknown case is told by name")
    func unknownCases() throws {
        let raw = try error(.init(key: "title", value: "t"), .init(key: "mood", value: "sad"))
        #expect(raw?.code == .unknownCase("sad"))
        #expect(raw?.path == "items[1].mood")
        let change = CBORValue.map([.init(key: "lost", value: .map([]))])
        let associated = try error(.init(key: "title", value: "t"), .init(key: "change", value: change))
        #expect(associated?.code == .unknownCase("lost"))
        #expect(associated?.path.hasPrefix("items[1].change") == true)
    }

    @Test("trouble inside a field that the type does not ask for is told with its path")
    func unaskedFields() {
        let error = cborError { _ = try decoded(Order.self, hex: "a2656974656d73806178" + "8201a2616100616100") }
        #expect(error?.code == .duplicateKey("\"a\""))
        #expect(error?.path.hasPrefix("x[1]") == true)
    }

    @Test("trailing bytes, cut text and bad UTF-8 are told when decoding to a type too")
    func illFormedInput() {
        #expect(cborError { _ = try decoded(Int.self, hex: "0102") }?.code == .trailingBytes(count: 1))
        let behind = cborError { _ = try decoded([Int].self, hex: "810102") }
        #expect(behind == CBORError(.trailingBytes(count: 1), offset: 2, path: ""))
        #expect(cborError { _ = try decoded(String.self, hex: "6261") }?.code == .unexpectedEnd)
        #expect(cborError { _ = try decoded([String].self, hex: "8161ff") }?.path == "[0]")
        #expect(
            cborError { _ = try decoded([String: Int].self, hex: "a2616101616102") }?.code == .duplicateKey("\"a\"")
        )
    }

    @Test("coding paths are there for types that ask")
    func codingPaths() throws {
        struct Probe: Codable {
            init() {}
            init(from decoder: any Decoder) throws {
                #expect(decoder.codingPath.map(\.stringValue) == ["k", "Index 1"])
                #expect(decoder.codingPath.last?.intValue == 1)
                throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no good"))
            }
            func encode(to encoder: any Encoder) throws {
                #expect(encoder.codingPath.map(\.stringValue) == ["k", "Index 0"])
                throw EncodingError.invalidValue(1, .init(codingPath: [], debugDescription: "no good"))
            }
        }
        struct Skip: Decodable { init(from decoder: any Decoder) throws {} }
        struct Pair: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                _ = try container.decode(Skip.self)
                _ = try container.decode(Probe.self)
            }
        }
        let decoding = cborError { _ = try decoded([String: Pair].self, hex: "a1616b820102") }
        #expect(decoding == CBORError(.invalidValue("no good"), offset: 5, path: "k[1]"))
        let encoding = cborError { _ = try CBOREncoder().encode(["k": [Probe()]]) }
        #expect(encoding?.code == .valueNotEncodable("no good"))
        #expect(encoding?.path == "k[0]")
    }

    @Test("a person is told of bytes only where the bytes are wrong")
    func sentenceOfValue() {
        let missing = CBORError(.missingKey("color"), offset: 0)
        #expect(missing.sentenceOfValue == "The key \"color\" is missing.")
        #expect(missing.description == "The key \"color\" is missing at byte 0.")
        let cut = CBORError(.unexpectedEnd, offset: 9, path: "items[1]")
        #expect(cut.sentenceOfValue == cut.description)
        #expect(cut.description.contains("byte 9"))
    }

    /// An error of each kind that is about a value, without its path.
    private static let mistakes: [CBORError.Code] = [
        .numberOutOfRange(value: "300", type: "UInt8"), .duplicateKey("\"a\""), .missingElement(index: 2),
        .typeMismatch(expected: "a text string", found: "the integer 7"), .missingKey("color"), .unknownCase("c"),
        .missingKey("look at me"), .unknownCase("look at me"),
    ]

    @Test("the sentence of an error names the same field as the error", arguments: mistakes)
    func field(of code: CBORError.Code) {
        for path in ["", "box", "box.id", "items[3].title", "[0]"] {
            let error = CBORError(code, offset: 12, path: path)
            #expect(CBORError.field(named: error.sentenceOfValue) == error.field, "\(error.sentenceOfValue)")
        }
    }

    @Test("no field is named where a path could be taken for a reason's words, or those for a path")
    func uncertainField() {
        for code in Self.mistakes {
            let sentence = CBORError(code, offset: 12, path: "my box").sentenceOfValue
            #expect(CBORError.field(named: sentence) == nil, "\(sentence)")
        }
        for code in [CBORError.Code.invalidValue("it is too wide"), .valueNotEncodable("it is no number")] {
            let sentence = CBORError(code, offset: 12, path: "box").sentenceOfValue
            #expect(CBORError.field(named: sentence) == nil, "\(sentence)")
        }
        let endless = "Expected \(String(repeating: " at a", count: 100_000))."
        #expect(CBORError.field(named: endless) == nil)
    }

    @Test("the field of an error is that which is wrong, or that which is missing")
    func field() {
        #expect(CBORError(.missingKey("color"), offset: 0).field == "color")
        #expect(CBORError(.missingKey("color"), offset: 0, path: "box").field == "box.color")
        #expect(CBORError(.missingElement(index: 1), offset: 0, path: "items").field == "items[1]")
        #expect(CBORError(.unknownCase("c"), offset: 0, path: "kind").field == "kind")
        #expect(CBORError(.unknownCase("c"), offset: 0).field == nil)
    }

    @Test(
        "other sentences name no field",
        arguments: [
            "", ".", "the shelf is full at noon.", "StoreFull() (handler at Warehouse/Store.swift:12)",
            "The value was refused: it is at most 3.", "The key \"color", "The key \"color.",
            "Expected a text string but found the integer 7 at items[1].ti",
            "The input ends in the middle of an item at byte 12.",
        ]
    )
    func noField(in sentence: String) {
        #expect(CBORError.field(named: sentence) == nil)
    }
}
