import BridgeProtocol
import CBOR
import DomainEvents

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A value with a field of every kind that can be decoded; each may be missing, and the fuzzer soon finds the short
/// keys.
struct FuzzSample: Codable, Sendable {
    enum Change: Codable, Sendable {
        case saved(Int, String?)
        case gone
    }

    enum Mood: String, Codable, Sendable {
        case calm
        case cross
    }

    var i: Int?
    var u: UInt8?
    var t: String?
    var f: Float?
    var d: Double?
    var b: Bool?
    var w: Date?
    var x: Data?
    var id: UUID?
    var url: URL?
    var n: Decimal?
    var l: [Double]?
    var o: [Int8?]?
    var e: Change?
    var r: Mood?
    var p: FuzzContainers?
    var c: [FuzzSample]?
}

/// Nested containers and super encoders of every kind, which no synthesised conformance asks for.
struct FuzzContainers: Codable, Sendable {
    private enum Key: String, CodingKey {
        case map
        case list
    }

    let number: Int16?
    let listed: UInt64?
    let inMap: Bool
    let inherited: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let map = try container.nestedContainer(keyedBy: Key.self, forKey: .map)
        number = try map.decodeIfPresent(Int16.self, forKey: .list)
        inMap = map.contains(.map)
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        listed = list.isAtEnd ? nil : try list.decode(UInt64.self)
        if !list.isAtEnd { _ = try list.nestedContainer(keyedBy: Key.self).allKeys }
        if !list.isAtEnd { _ = try list.nestedUnkeyedContainer().count }
        if !list.isAtEnd { _ = try list.superDecoder().singleValueContainer().decodeNil() }
        inherited = try container.superDecoder().singleValueContainer().decode(String.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        var map = container.nestedContainer(keyedBy: Key.self, forKey: .map)
        try map.encodeIfPresent(number, forKey: .list)
        if inMap { try map.encodeNil(forKey: .map) }
        var list = container.nestedUnkeyedContainer(forKey: .list)
        if let listed { try list.encode(listed) }
        var single = container.superEncoder().singleValueContainer()
        try single.encode(inherited)
    }
}

/// An event with a layout, whose field `s` only `Codable` can read.
struct FuzzEvent: Codable, Sendable {
    let id: Int64
    let t: String
    let n: UInt8?
    let l: [Int32]
    let s: FuzzSample?

    static let coder = LaidOutCoder(
        EventLayout(
            Self.init(id:t:n:l:s:),
            .field("id", \.id),
            .field("t", \.t),
            .field("n", \.n),
            .field("l", \.l),
            .field("s", \.s)
        )
    )
}
