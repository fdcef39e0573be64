import CBOR

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The examples of Appendix A, read from the fixture.
struct AppendixVector: Decodable, Sendable, CustomStringConvertible {
    let hex: String
    let roundtrip: Bool
    let decoded: Expectation?
    let diagnostic: String?

    var description: String { hex }
    var bytes: [UInt8] { [UInt8](hexadecimal: hex) }

    /// Whether it is the one example of RFC 7049's file that RFC 8949 took out: simple values below 32 in two bytes are
    /// no longer well-formed (section 3.3).
    var isWithdrawn: Bool { hex == "f818" }

    static func load() throws -> [AppendixVector] {
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let file = root.appending(path: "Fixtures/CBOR/cbor-appendix-a.json")
        return try JSONDecoder().decode([AppendixVector].self, from: Data(contentsOf: file))
    }
}

/// The JSON form of a decoded item.
enum Expectation: Decodable, Sendable {
    case null
    case bool(Bool)
    case number(Decimal)
    /// A number with more digits or a higher exponent than a decimal has.
    case double(Double)
    case text(String)
    case array([Expectation])
    case map([String: Expectation])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Decimal.self) {
            self = .number(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([Expectation].self) {
            self = .array(value)
        } else {
            self = .map(try container.decode([String: Expectation].self))
        }
    }

    func matches(_ value: CBORValue) -> Bool {
        switch (self, value) {
        case (.null, .null): true
        case (.bool(let expected), .bool(let found)): expected == found
        case (.number(let expected), .unsigned(let found)): expected == Decimal(found)
        case (.number(let expected), .negative(let found)): expected == -1 - Decimal(found)
        case (.number(let expected), .double(let found)): Double("\(expected)") == found
        case (.double(let expected), .double(let found)): expected == found
        case (.number(let expected), .tagged(2, .bytes(let found))): expected == Expectation.number(found)
        case (.number(let expected), .tagged(3, .bytes(let found))): expected == -1 - Expectation.number(found)
        case (.text(let expected), .text(let found)): expected == found
        case (.array(let expected), .array(let found)):
            expected.count == found.count && zip(expected, found).allSatisfy { $0.matches($1) }
        case (.map(let expected), .map(let found)):
            expected.count == found.count
                && found.allSatisfy { entry in
                    guard case .text(let key) = entry.key else { return false }
                    return expected[key]?.matches(entry.value) ?? false
                }
        default: false
        }
    }

    private static func number(_ bytes: [UInt8]) -> Decimal {
        bytes.reduce(Decimal(0)) { $0 * 256 + Decimal(Int($1)) }
    }
}

/// The items that the file gives only in diagnostic notation.
let diagnosticValues: [String: CBORValue] = [
    "Infinity": .double(.infinity),
    "-Infinity": .double(-.infinity),
    "NaN": .double(.nan),
    "undefined": .undefined,
    "simple(16)": .simple(16),
    "simple(255)": .simple(255),
    "0(\"2013-03-21T20:04:00Z\")": .tagged(0, .text("2013-03-21T20:04:00Z")),
    "1(1363896240)": .tagged(1, .unsigned(1_363_896_240)),
    "1(1363896240.5)": .tagged(1, .double(1_363_896_240.5)),
    "23(h'01020304')": .tagged(23, .bytes([1, 2, 3, 4])),
    "24(h'6449455446')": .tagged(24, .bytes([0x64, 0x49, 0x45, 0x54, 0x46])),
    "32(\"http://www.example.com\")": .tagged(32, .text("http://www.example.com")),
    "h''": .bytes([]),
    "h'01020304'": .bytes([1, 2, 3, 4]),
    "{1: 2, 3: 4}": .map([.init(key: 1, value: 2), .init(key: 3, value: 4)]),
    "(_ h'0102', h'030405')": .bytes([1, 2, 3, 4, 5]),
]

extension CBORValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    /// An integer of either sign.
    public init(integerLiteral value: Int64) {
        self = value >= 0 ? .unsigned(UInt64(value)) : .negative(UInt64(bitPattern: ~value))
    }

    /// A text string.
    public init(stringLiteral value: String) {
        self = .text(value)
    }
}

extension [UInt8] {
    init(hexadecimal text: String) {
        let digits = text.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
        self = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// The error that `body` throws, nil if it returns or throws something else.
func cborError(_ body: () throws -> Void) -> CBORError? {
    do {
        try body()
        return nil
    } catch {
        return error as? CBORError
    }
}

/// Why the bytes are refused as an item, nil if they are not.
func refusal(of bytes: [UInt8], limits: CBORLimits = .standard) -> CBORError? {
    cborError { _ = try CBORValue(decoding: bytes, limits: limits) }
}

func refusal(ofHex hex: String) -> CBORError? { refusal(of: [UInt8](hexadecimal: hex)) }
