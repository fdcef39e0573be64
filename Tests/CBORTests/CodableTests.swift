import CBOR
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Encodes, checks that the tree can read it, decodes.
func roundTrip<T: Codable>(_ value: T) throws -> T {
    let bytes = try CBOREncoder().encode(value)
    #expect(try CBORValue(decoding: bytes).encoded() == bytes)
    return try CBORDecoder().decode(T.self, from: bytes)
}

func hex<T: Encodable>(_ value: T) throws -> String {
    try CBOREncoder().encode(value).hexadecimal
}

func decoded<T: Decodable>(_ type: T.Type = T.self, hex: String) throws -> T {
    try CBORDecoder().decode(type, from: [UInt8](hexadecimal: hex))
}

private struct Item: Codable, Equatable {
    var id: Int64
    var title: String
    var note: String?
    var inner: [Item]?
}

private enum Mood: String, Codable { case calm, cross }

private enum Change: Codable, Equatable {
    case saved(Int)
    case renamed(from: String, to: String)
    case grouped([Change])
    case nothing
}

private struct Everything: Codable, Equatable {
    var flag = true
    var integers: [Int] = [0, -1, .max, .min]
    var bytes: [UInt8] = [0, 255]
    var half: Float = 1.5
    var double = 3.14159
    var map = ["b": 1, "a": 2]
    var numbered = [1: "one", -7: "minus seven"]
    var changes: [Change] = [.saved(3), .renamed(from: "a", to: "b"), .grouped([.nothing, .saved(1)])]
    var optionals: [Int?] = [1, nil]
    var date = Date(timeIntervalSince1970: 1_700_000_000.25)
    var data = Data([1, 2, 3])
    var id = UUID(uuidString: "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6")
    var url = URL(string: "https://example.org/a?b=c")
    var price = Decimal(string: "-12.345")
    var items = [Item(id: 1, title: "one", note: nil, inner: [Item(id: 2, title: "two", note: "n", inner: nil)])]
}

@Suite("Codable values")
struct CodableTests {
    @Test("a struct becomes a map in the order of writing")
    func structLayout() throws {
        #expect(try hex(Item(id: 500, title: "x")) == "a2626964" + "1901f4" + "657469746c65" + "6178")
    }

    @Test("values of every kind come back equal")
    func everything() throws {
        #expect(try roundTrip(Everything()) == Everything())
        #expect(try roundTrip(["x": Everything()]) == ["x": Everything()])
    }

    @Test("large containers get longer heads", arguments: [0, 1, 23, 24, 255, 256, 65_535, 65_536])
    func headLengths(count: Int) throws {
        let numbers = Array(0..<count)
        #expect(try roundTrip([numbers, numbers]) == [numbers, numbers])
        let map = Dictionary(uniqueKeysWithValues: numbers.map { ("k\($0)", $0) })
        #expect(try roundTrip(["before": [:], "map": map]) == ["before": [:], "map": map])
    }

    @Test("enumerations are spelt as Codable spells them")
    func enumerations() throws {
        #expect(try CBORValue(decoding: CBOREncoder().encode(Change.saved(7)))["saved"]?["_0"] == 7)
        #expect(try roundTrip([Mood.cross, .calm]) == [.cross, .calm])
        #expect(try roundTrip(["k": Mood.cross]) == ["k": .cross])
    }

    @Test("scalars stand alone")
    func fragments() throws {
        #expect(try roundTrip(true))
        #expect(try roundTrip("text") == "text")
        #expect(try roundTrip(Int?.none) == nil)
        #expect(try roundTrip(Int?.some(3)) == 3)
        #expect(try roundTrip(Mood.calm) == .calm)
        #expect(try hex(Date(timeIntervalSince1970: 1)) == "c101")
    }

    @Test("integers keep their limits")
    func integerLimits() throws {
        func check<T: FixedWidthInteger & Codable>(_ type: T.Type) throws {
            #expect(try roundTrip([T.min, T.max, 0, 23, 24]) == [T.min, T.max, 0, 23, 24])
            #expect(try roundTrip(["k": T.min]) == ["k": T.min])
            #expect(try roundTrip(T.max) == T.max)
        }
        try check(Int.self)
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(UInt.self)
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
    }

    @Test(
        "D14: numbers that do not fit are refused with value and type",
        arguments: [
            ("1bffffffffffffffff", "18446744073709551615", "Int"),
            ("3bffffffffffffffff", "-18446744073709551616", "Int"),
            ("3b8000000000000000", "-9223372036854775809", "Int"),
            ("20", "-1", "UInt"),
            ("19012c", "300", "UInt8"),
            ("3880", "-129", "Int8"),
            ("fb3ff199999999999a", "1.1", "Float"),
            ("1b0020000000000001", "9007199254740993", "Double"),
            ("1a01000001", "16777217", "Float"),
        ]
    )
    func numberOutOfRange(hex: String, value: String, type: String) {
        let expected = CBORError.Code.numberOutOfRange(value: value, type: type)
        let bytes = [UInt8](hexadecimal: hex)
        func code<T: Decodable>(_ type: T.Type) -> [CBORError.Code?] {
            [
                cborError { _ = try CBORDecoder().decode(T.self, from: bytes) }?.code,
                cborError { _ = try CBORDecoder().decode([T].self, from: [0x81] + bytes) }?.code,
                cborError { _ = try CBORDecoder().decode([String: T].self, from: [0xA1, 0x61, 0x61] + bytes) }?.code,
            ]
        }
        let codes =
            switch type {
            case "Int": code(Int.self)
            case "UInt": code(UInt.self)
            case "UInt8": code(UInt8.self)
            case "Int8": code(Int8.self)
            case "Float": code(Float.self)
            default: code(Double.self)
            }
        #expect(codes == [expected, expected, expected])
    }

    @Test("D16: special floats come back, and no float becomes an integer")
    func floats() throws {
        for value in [Double.infinity, -.infinity, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.1] {
            #expect(try roundTrip(value).bitPattern == value.bitPattern)
        }
        #expect(try roundTrip(Double.nan).isNaN)
        #expect(try roundTrip(Float.nan).isNaN)
        #expect(try roundTrip([Float.pi, .infinity]) == [Float.pi, .infinity])
        #expect(try decoded(Double.self, hex: "03") == 3)
        #expect(try decoded(Float.self, hex: "3bffffffffffffffff") == -0x1p64)
        #expect(throws: CBORError.self) { try decoded(Int.self, hex: "f93c00") }
    }

    @Test("128-bit integers are refused, not cut")
    func wideIntegers() throws {
        guard #available(macOS 15, *) else { return }
        let error = cborError { _ = try CBOREncoder().encode(["wide": Int128.max]) }
        guard case .valueNotEncodable = error?.code else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.path == "wide")
        #expect(cborError { _ = try decoded(Int128.self, hex: "01") } != nil)
    }

    @Test("D17: unknown keys, nulls and strings in chunks are taken as they should be")
    func leniency() throws {
        #expect(try decoded(Item.self, hex: "a3626964016178826101f6657469746c656178") == Item(id: 1, title: "x"))
        #expect(try decoded(Item.self, hex: "a3657469746c656178646e6f7465f662696401") == Item(id: 1, title: "x"))
        #expect(try decoded(Item.self, hex: "bf657469746c657f61786179ff62696401ff") == Item(id: 1, title: "xy"))
        #expect(try decoded(Item.self, hex: "a2780269640165" + "7469746c656178") == Item(id: 1, title: "x"))
        #expect(try decoded(Item.self, hex: "a27f61696164ff0165" + "7469746c656178") == Item(id: 1, title: "x"))
        #expect(try decoded([Int].self, hex: "9f0102ff") == [1, 2])
        #expect(try decoded([String: Int].self, hex: "bf616101ff") == ["a": 1])
        #expect(try decoded([Int].self, hex: "d9d9f78101") == [1])
        #expect(try decoded(String.self, hex: "d82076687474703a2f2f7777772e6578616d706c652e636f6d").hasPrefix("http"))
    }

    @Test("a large map is read in any order")
    func largeMaps() throws {
        let map = Dictionary(uniqueKeysWithValues: (0..<5_000).map { ("key \($0)", $0) })
        let bytes = try CBOREncoder().encode(map)
        struct Probe: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: AnyKey.self)
                for number in (0..<5_000).reversed() {
                    #expect(try container.decode(Int.self, forKey: AnyKey("key \(number)")) == number)
                }
                #expect(!container.contains(AnyKey("absent")))
                #expect(try container.decodeIfPresent(Int.self, forKey: AnyKey("absent")) == nil)
            }
        }
        _ = try CBORDecoder().decode(Probe.self, from: bytes)
    }

    @Test("one coder serves many values, also from within one of them")
    func reuse() throws {
        let encoder = CBOREncoder()
        let decoder = CBORDecoder()
        let buffer = CBORBuffer()
        for number in 0..<100 {
            buffer.removeAll()
            try encoder.encode(Item(id: Int64(number), title: "t"), into: buffer)
            #expect(try decoder.decode(Item.self, from: buffer.bytes).id == Int64(number))
        }
        let nesting = Reentrant(encoder: encoder, decoder: decoder)
        #expect(try encoder.encode(nesting).hexadecimal == "a1616e43181820")
    }
}

/// Encodes and decodes with the very coders that are encoding it.
private struct Reentrant: Encodable {
    let encoder: CBOREncoder
    let decoder: CBORDecoder

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        let inner = try self.encoder.encode(24)
        let number = try decoder.decode(Int.self, from: inner)
        #expect(number == 24)
        try container.encode(Data(inner + [0x20]), forKey: AnyKey("n"))
    }
}

struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ string: String) { stringValue = string }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}
