import CBOR
import Testing

/// A type that contains itself: more containers of one key type at once than a coder keeps.
private struct Tree: Codable, Equatable {
    var name: String
    var first: [Tree] = []
    var second: [Tree] = []
    var size: Int

    static func full(depth: Int) -> Tree {
        let branches = depth > 0 ? [full(depth: depth - 1)] : []
        return Tree(name: "depth \(depth)", first: branches, second: branches, size: 1 << depth)
    }
}

/// As many key types as one likes: `WrappedKey<Int>`, `WrappedKey<WrappedKey<Int>>` and so on.
private struct WrappedKey<Inner>: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

private let names = ["id", "title", "a longer name of a field"]

/// Writes and reads a map of three numbers through a container for the key type.
private struct Numbers<Inner>: Codable, Equatable {
    let values: [Int]

    init(_ values: [Int]) { self.values = values }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: WrappedKey<Inner>.self)
        values = try names.compactMap { WrappedKey<Inner>(stringValue: $0) }
            .map { try container.decode(Int.self, forKey: $0) }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: WrappedKey<Inner>.self)
        for (name, value) in zip(names, values) {
            guard let key = WrappedKey<Inner>(stringValue: name) else { continue }
            try container.encode(value, forKey: key)
        }
    }
}

/// Keeps the container that it was given to write to or to read from.
private final class Hoarder: Codable {
    nonisolated(unsafe) static var encoding: [KeyedEncodingContainer<AnyKey>] = []
    nonisolated(unsafe) static var decoding: [KeyedDecodingContainer<AnyKey>] = []

    let number: Int

    init(_ number: Int) { self.number = number }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        Hoarder.decoding.append(container)
        number = try container.decode(Int.self, forKey: AnyKey("number"))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        Hoarder.encoding.append(container)
        try container.encode(number, forKey: AnyKey("number"))
    }
}

@Suite("Containers that a coder keeps", .serialized)
struct KeptContainerTests {
    @Test("values that contain themselves come back, time and again")
    func recursion() throws {
        let encoder = CBOREncoder()
        let decoder = CBORDecoder()
        let tree = Tree.full(depth: 8)
        let bytes = try CBOREncoder().encode(tree)
        for _ in 0..<3 {
            #expect(try encoder.encode(tree) == bytes)
            #expect(try decoder.decode(Tree.self, from: bytes) == tree)
        }
    }

    @Test("more key types than places take turns")
    func manyKeyTypes() throws {
        let encoder = CBOREncoder()
        let decoder = CBORDecoder()
        func check<Inner>(_ inner: Inner.Type, _ depth: Int) throws {
            let numbers = Numbers<Inner>([depth, -depth, 1_000 * depth])
            let bytes = try encoder.encode([numbers, numbers])
            #expect(try decoder.decode([Numbers<Inner>].self, from: bytes) == [numbers, numbers])
            if depth > 0 { try check(WrappedKey<Inner>.self, depth - 1) }
        }
        for _ in 0..<2 { try check(Int.self, 200) }
    }

    @Test("a container that is still in use is not handed out again, and writes nothing into another value")
    func hoardedForWriting() throws {
        Hoarder.encoding = []
        let buffer = CBORBuffer()
        do {
            let encoder = CBOREncoder()
            for number in 0..<20 {
                buffer.removeAll()
                try encoder.encode([Hoarder(number), Hoarder(number + 1)], into: buffer)
                let expected = CBORValue.array(
                    [number, number + 1].map { .map([.init(key: "number", value: .unsigned(UInt64($0)))]) }
                )
                #expect(try CBORValue(decoding: buffer.bytes) == expected)
                for index in Hoarder.encoding.indices {
                    #expect(throws: CBORError.self) { try Hoarder.encoding[index].encode(7, forKey: AnyKey("late")) }
                }
                #expect(try CBORValue(decoding: buffer.bytes) == expected)
            }
        }
        // The encoder is released by now.
        for index in Hoarder.encoding.indices {
            #expect(throws: CBORError.self) { try Hoarder.encoding[index].encode(7, forKey: AnyKey("late")) }
            let nested = Hoarder.encoding[index].superEncoder()
            #expect(throws: CBORError.self) { try Tree.full(depth: 2).encode(to: nested) }
        }
        Hoarder.encoding = []
    }

    @Test("a container that is kept past its value and its decoder reads nothing")
    func hoardedForReading() throws {
        Hoarder.decoding = []
        do {
            let decoder = CBORDecoder()
            for number in 0..<20 {
                let bytes = try CBOREncoder().encode([Hoarder(number), Hoarder(number + 1)])
                #expect(try decoder.decode([Hoarder].self, from: bytes).map(\.number) == [number, number + 1])
                for container in Hoarder.decoding {
                    #expect(throws: CBORError.self) { try container.decode(Int.self, forKey: AnyKey("number")) }
                }
            }
        }
        for container in Hoarder.decoding {
            #expect(throws: CBORError.self) { try container.decode(Int.self, forKey: AnyKey("number")) }
            #expect(container.allKeys.isEmpty)
        }
        Hoarder.decoding = []
        Hoarder.encoding = []
    }

    @Test("a missing key is told after each way of having read the others")
    func missingKeys() throws {
        struct Sparse: Codable {
            var a: Int
            var b: Int?
            var c: [Int]?
            var d: Int
        }
        let decoder = CBORDecoder()
        #expect(try decoder.decode(Sparse.self, from: [UInt8](hexadecimal: "a2616101616402")).d == 2)
        #expect(try decoder.decode(Sparse.self, from: [UInt8](hexadecimal: "a36164026163820506616101")).c == [5, 6])
        let error = cborError { _ = try decoder.decode([Sparse].self, from: [UInt8](hexadecimal: "81a2616101616202")) }
        #expect(error == CBORError(.missingKey("d"), offset: 1, path: "[0]"))
    }
}
