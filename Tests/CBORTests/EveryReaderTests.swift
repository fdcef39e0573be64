import BridgeProtocol
import CBOR
import DomainEvents
import Testing

/// Reads an array element by element, with the method that there is for each type.
private struct Elements: Decodable {
    let isWhole: Bool

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        let isNull = try list.decodeNil()
        let isStillNull = try list.decodeNil()
        let flag = try list.decode(Bool.self)
        let text = try list.decode(String.self)
        let floats = (try list.decode(Double.self), try list.decode(Float.self))
        let signed = (
            try list.decode(Int.self), try list.decode(Int8.self), try list.decode(Int16.self),
            try list.decode(Int32.self), try list.decode(Int64.self)
        )
        let unsigned = (
            try list.decode(UInt.self), try list.decode(UInt8.self), try list.decode(UInt16.self),
            try list.decode(UInt32.self), try list.decode(UInt64.self)
        )
        isWhole =
            isNull && !isStillNull && flag && text == "x" && floats == (1.5, 0.5) && signed == (-1, -2, -3, -4, -5)
            && unsigned == (1, 2, 3, 4, 5) && list.isAtEnd && list.codingPath.isEmpty && decoder.userInfo.isEmpty
    }
}

/// Reads optional members with the method that there is for each type.
private struct Members: Decodable {
    private enum Key: String, CodingKey { case a, b, c, d, e, f, g, h, missing }

    let isWhole: Bool

    init(from decoder: any Decoder) throws {
        let map = try decoder.container(keyedBy: Key.self)
        let isNull = try map.decodeNil(forKey: .h)
        let signed = (
            try map.decodeIfPresent(Int8.self, forKey: .a), try map.decodeIfPresent(Int32.self, forKey: .b),
            try map.decodeIfPresent(Int64.self, forKey: .c)
        )
        let unsigned = (
            try map.decodeIfPresent(UInt.self, forKey: .d), try map.decodeIfPresent(UInt16.self, forKey: .e),
            try map.decodeIfPresent(UInt32.self, forKey: .f), try map.decodeIfPresent(UInt64.self, forKey: .missing)
        )
        let single = try map.superDecoder(forKey: .g).singleValueContainer()
        let values = (try single.decode(Int.self), try single.decode(UInt8.self), try single.decode(Double.self))
        isWhole =
            isNull && signed == (-1, -2, -3) && unsigned == (1, 2, 3, nil) && values == (7, 7, 7)
            && map.codingPath.isEmpty
    }
}

/// Takes no level of the item, and goes on for ever.
private struct Endless: Decodable {
    init(from decoder: any Decoder) throws {
        _ = try decoder.singleValueContainer().decode(Endless.self)
    }
}

private struct Throwing: Decodable {
    @TaskLocal static var error: any Error = CancellationError()

    init(from decoder: any Decoder) throws { throw Throwing.error }
}

private struct Numbered: Codable, Sendable, Equatable {
    let numbers: [Int16]

    static let coder = LaidOutCoder(EventLayout(Self.init(numbers:), .field("numbers", \.numbers)))
}

@Suite("Every way to read")
struct EveryReaderTests {
    @Test("an array is read by every type, and ends where it does")
    func elements() throws {
        let values: [CBORValue] = [
            .null, .bool(true), "x", .double(1.5), .double(0.5), -1, -2, -3, -4, -5, 1, 2, 3, 4, 5,
        ]
        let bytes = try CBORValue.array(values).encoded()
        #expect(try CBORDecoder().decode(Elements.self, from: bytes).isWhole)
        let error = cborError {
            _ = try CBORDecoder().decode(Elements.self, from: try CBORValue.array(values.dropLast()).encoded())
        }
        #expect(error?.code == .missingElement(index: 14))
        #expect(error?.description.contains("an element with index 14") == true)
    }

    @Test("members that may be missing are read by every type")
    func members() throws {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"]
        let values: [CBORValue] = [-1, -2, -3, 1, 2, 3, 7, .null]
        let entries = zip(names, values).map { CBORValue.Entry(key: .text($0), value: $1) }
        #expect(try CBORDecoder().decode(Members.self, from: CBORValue.map(entries).encoded()).isWhole)
    }

    @Test("D10: a type that decodes itself from the same item for ever is stopped")
    func endless() {
        #expect(cborError { _ = try decoded(Endless.self, hex: "01") }?.code == .depthExceeded(limit: 64))
    }

    @Test("what a type throws of the standard library's errors is told in words")
    func foreignErrors() {
        let context = DecodingError.Context(codingPath: [], debugDescription: "for a reason")
        Throwing.$error.withValue(DecodingError.valueNotFound(Int.self, context)) {
            let error = cborError { _ = try decoded(Throwing.self, hex: "01") }
            #expect(error?.code == .invalidValue("expected Int: for a reason"))
        }
        struct Key: CodingKey {
            var stringValue = "k"
            var intValue: Int?
            init() {}
            init?(stringValue: String) {}
            init?(intValue: Int) { return nil }
        }
        Throwing.$error.withValue(DecodingError.keyNotFound(Key(), context)) {
            #expect(cborError { _ = try decoded(Throwing.self, hex: "01") }?.code == .missingKey("k"))
        }
    }

    @Test("a layout reads arrays of indefinite length")
    func layouts() throws {
        let bytes = [UInt8](hexadecimal: "a1676e756d626572739f01200319012cff")
        #expect(try Numbered.coder.decode(from: bytes, with: CBORDecoder()) == Numbered(numbers: [1, -1, 3, 300]))
    }

    @Test("every error is a sentence with its numbers")
    func sentences() {
        let sentences: [(CBORError.Code, String)] = [
            (.unknownCase("x"), "\"x\""), (.tooManyItems(limit: 7), "7 items"), (.inputTooLarge(limit: 7), "7 bytes"),
        ]
        for (code, part) in sentences { #expect(CBORError(code, offset: 3).description.contains(part)) }
    }

    @Test("equal values have equal hashes, of every kind")
    func hashes() {
        let values: [CBORValue] = [
            1, -1, "text", .bytes([1]), .array([1]), .map([.init(key: "k", value: 1)]), .tagged(1, 1), .simple(1),
            .bool(true), .null, .undefined, .double(.nan),
        ]
        #expect(Set(values + values).count == values.count)
    }
}
