import Testing

@testable import CBOR

/// Reads two nested maps by turns, at the end of a chain of maps that are all open.
private struct Twins: Decodable {
    let pairs: Int

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        if container.contains(AnyKey("in")) {
            pairs = try container.decode(Twins.self, forKey: AnyKey("in")).pairs
            return
        }
        let first = try container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("x"))
        let second = try container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("y"))
        pairs = try first.allKeys.count { key in
            try first.decode(Int.self, forKey: key) == second.decode(Int.self, forKey: key)
        }
    }
}

/// Asks for keys of its own map once for each element of an array in this map.
private struct Asking: Decodable {
    let sum: Int

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        var list = try container.nestedUnkeyedContainer(forKey: AnyKey("items"))
        var sum = 0
        while !list.isAtEnd {
            sum += try list.decode(Int.self) + container.decode(Int.self, forKey: AnyKey("a"))
            sum += try container.decodeIfPresent(Int.self, forKey: AnyKey("missing")) ?? 0
            sum += try container.decode(Int.self, forKey: AnyKey("z"))
        }
        self.sum = sum
    }
}

/// Asks for many keys that its map does not have.
private struct Missing: Decodable {
    let found: Int

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        let count = container.allKeys.count
        found = (0..<count).count { container.contains(AnyKey("missing \($0)")) }
    }
}

/// Reads a value of its parent's map while the parent reads this one.
private struct Child: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        _ = try Parent.container?.decode(Int.self, forKey: AnyKey("last"))
        _ = try container.decode(Int.self, forKey: AnyKey("i"))
    }
}

private struct Parent: Decodable {
    nonisolated(unsafe) static var container: KeyedDecodingContainer<AnyKey>?  // Used by one test only.

    let next: Int

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        Parent.container = container
        defer { Parent.container = nil }
        _ = try container.decode(Child.self, forKey: AnyKey("child"))
        next = try container.decode(Int.self, forKey: AnyKey("next"))
    }
}

/// Keys that are asked for in an order, or so often, that no type asks for them unless a peer chose the payload.
@Suite("Looking up keys", .timeLimit(.minutes(5)))
struct LookupTests {
    private static func text(_ value: String) -> [UInt8] { [0x78, UInt8(value.utf8.count)] + Array(value.utf8) }

    /// The head of a container of up to 65,535 entries.
    private static func head(_ major: UInt8, _ count: Int) -> [UInt8] {
        [major << 5 | 25, UInt8(count >> 8), UInt8(count & 0xFF)]
    }

    private static func map(of count: Int) -> [UInt8] {
        head(5, count) + (0..<count).flatMap { text("key \($0)") + [1] }
    }

    private static func asking(items: Int) -> [UInt8] {
        let list = head(4, items) + [UInt8](repeating: 2, count: items)
        return [0xA3] + text("a") + [1] + text("items") + list + text("z") + [3]
    }

    /// A session that reads these bytes, and a cursor in their outermost map.
    private static func withCursor(
        _ bytes: [UInt8],
        _ body: (DecodingInput, UnsafeMutablePointer<MapCursor>) throws -> Void
    ) throws {
        let session = DecodingSession(limits: .standard)
        try bytes.withUnsafeBytes { bytes in
            session.begin(reading: bytes)
            defer { session.end() }
            let free = FreeCursor(session: session, map: try session.input.map(at: 0))
            try body(session.input, free.cursor)
        }
    }

    @Test("a container that is not kept keeps its place and its table while others are read")
    func ownCursors() throws {
        let one = Self.map(of: 100)
        let bytes = [0x82] + one + one
        let session = DecodingSession(limits: .standard)
        try bytes.withUnsafeBytes { bytes in
            session.begin(reading: bytes)
            defer { session.end() }
            let first = FreeReader<AnyKey>(session: session, map: try session.input.map(at: 1))
            let second = FreeReader<AnyKey>(session: session, map: try session.input.map(at: 1 + one.count))
            _ = try first.decode(Int.self, forKey: AnyKey("key 50"))
            let place = first.cursor.pointee
            #expect(place.table?.count == 100)
            _ = try second.decode(Int.self, forKey: AnyKey("key 3"))
            #expect(first.cursor.pointee.position == place.position)
            #expect(first.cursor.pointee.table?.count == 100)
        }
    }

    @Test("D22: maps of 60,000 keys are read by turns without a search from the beginning", arguments: [0, 6])
    func twins(depth: Int) throws {
        let open = repeatElement([0xA1] + Self.text("in"), count: depth).joined()
        let map = Self.map(of: 60_000)
        let bytes = open + [0xA2] + Self.text("x") + map + Self.text("y") + map
        #expect(try CBORDecoder().decode(Twins.self, from: bytes).pairs == 60_000)
    }

    @Test("a long map gets a table when many searches have come to its end, a short one does not")
    func rounds() throws {
        for (items, isLong) in [(10, false), (1_000, false), (1_050, true), (60_000, true)] {
            try Self.withCursor(Self.asking(items: items)) { input, cursor in
                for search in 0..<100 {
                    #expect((cursor.pointee.table != nil) == (isLong && search > 16), "\(items) items, \(search)")
                    #expect(try input.find("missing", cursor) == nil)
                }
                #expect(try input.find("a", cursor) == 4)
                let end = try input.value(of: "z", cursor)
                #expect(end == input.count - 1)
            }
        }
    }

    @Test("D22: a type may ask for keys of its map once for each of 60,000 elements")
    func asking() throws {
        #expect(try CBORDecoder().decode(Asking.self, from: Self.asking(items: 60_000)).sum == 60_000 * 6)
    }

    @Test("D22: a key as long as the payload is not read again for each missing key", arguments: [false, true])
    func longKey(isText: Bool) throws {
        // An array of 50,000 numbers, or as many empty chunks of a text.
        let chunks = [0x7F] + [UInt8](repeating: 0x60, count: 50_000) + [0xFF]
        let key = isText ? chunks : Self.head(4, 50_000) + [UInt8](repeating: 0, count: 50_000)
        let bytes = Self.head(5, 50_001) + key + [7] + Self.map(of: 50_000).dropFirst(3)
        #expect(try CBORDecoder().decode(Missing.self, from: bytes).found == 0)
        guard isText else { return }
        try Self.withCursor(bytes) { input, cursor in
            for name in ["", "key 49999", "", "missing", ""] {
                let value = try input.find(name, cursor)
                #expect((value == nil) == (name == "missing"))
                #expect(!name.isEmpty || value == 3 + chunks.count)
            }
        }
    }

    @Test("a value that reads its parent's container leaves it whole")
    func reentrantReading() throws {
        // {"child": {"i": 1}, "next": 2, "last": 3}
        let bytes = [0xA3] + Self.text("child") + [0xA1] + Self.text("i") + [1] + Self.text("next") + [2]
        #expect(try CBORDecoder().decode(Parent.self, from: bytes + Self.text("last") + [3]).next == 2)
    }
}
