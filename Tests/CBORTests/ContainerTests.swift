import CBOR
import Testing

private class Animal: Codable {
    var name: String

    init(name: String) { self.name = name }
}

/// Keeps its superclass under the key `super`.
private class Dog: Animal {
    var age = 0

    enum CodingKeys: String, CodingKey { case age }

    init(name: String, age: Int) {
        self.age = age
        super.init(name: name)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        age = try container.decode(Int.self, forKey: .age)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(age, forKey: .age)
        try super.encode(to: container.superEncoder())
    }
}

/// Shares the map with its superclass.
private final class Puppy: Dog {
    var toy = "ball"

    enum CodingKeys: String, CodingKey { case toy }

    override init(name: String, age: Int) { super.init(name: name, age: age) }

    required init(from decoder: any Decoder) throws {
        toy = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .toy)
        try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(toy, forKey: .toy)
    }
}

/// An `Encodable` made of a closure.
private struct Script: Encodable {
    let body: (any Encoder) throws -> Void

    func encode(to encoder: any Encoder) throws { try body(encoder) }
}

private func tree(_ body: @escaping (any Encoder) throws -> Void) throws -> CBORValue {
    try CBORValue(decoding: CBOREncoder().encode(Script(body: body)))
}

private func map(_ entries: (String, CBORValue)...) -> CBORValue {
    .map(entries.map { CBORValue.Entry(key: .text($0.0), value: $0.1) })
}

private let a = AnyKey("a")
private let b = AnyKey("b")
private let c = AnyKey("c")

@Suite("Containers")
struct ContainerTests {
    @Test("superclasses come back, under a key of their own and in the same map")
    func inheritance() throws {
        let dog = try roundTrip(Dog(name: "Rex", age: 4))
        #expect((dog.name, dog.age) == ("Rex", 4))
        let puppy = try roundTrip(Puppy(name: "Pip", age: 1))
        #expect((puppy.name, puppy.age, puppy.toy) == ("Pip", 1, "ball"))
    }

    @Test("nested containers in order are written in place")
    func nestedInOrder() throws {
        let value = try tree { encoder in
            var outer = encoder.container(keyedBy: AnyKey.self)
            var inner = outer.nestedContainer(keyedBy: AnyKey.self, forKey: a)
            try inner.encode(1, forKey: b)
            var list = inner.nestedUnkeyedContainer(forKey: c)
            try list.encode(2)
            var deep = list.nestedUnkeyedContainer()
            try deep.encodeNil()
            var map = deep.nestedContainer(keyedBy: AnyKey.self)
            try map.encodeNil(forKey: a)
            #expect(list.count == 2)
            try outer.encode(3, forKey: b)
        }
        #expect(value == map(("a", map(("b", 1), ("c", .array([2, .array([.null, map(("a", .null))])])))), ("b", 3)))
    }

    @Test("containers written by turns all keep what they were given")
    func interleaved() throws {
        let value = try tree { encoder in
            var outer = encoder.container(keyedBy: AnyKey.self)
            var first = outer.nestedContainer(keyedBy: AnyKey.self, forKey: a)
            var second = outer.nestedUnkeyedContainer(forKey: b)
            for number in 0..<30 {
                try first.encode(number, forKey: AnyKey("k\(number)"))
                try second.encode(["n": number])
                try outer.encode(number, forKey: AnyKey("o\(number)"))
            }
            var third = second.nestedUnkeyedContainer()
            try first.encode("last", forKey: c)
            try third.encode("third")
            try second.encode("end")
        }
        guard case .map(let entries) = value, case .map(let first) = entries[0].value,
            case .array(let second) = entries[1].value
        else {
            Issue.record("\(value)")
            return
        }
        #expect(entries.count == 32)
        #expect(first.count == 31)
        #expect(first.last?.value == "last")
        #expect(second.count == 32)
        #expect(second[3] == map(("n", 3)))
        #expect(second[30] == .array(["third"]))
        #expect(second[31] == "end")
        #expect(value["o29"] == 29)
    }

    @Test("super encoders may be written after the parent went on, or never")
    func lateSuperEncoders() throws {
        let value = try tree { encoder in
            var outer = encoder.container(keyedBy: AnyKey.self)
            let late = outer.superEncoder()
            let single = outer.superEncoder(forKey: c)
            _ = outer.superEncoder(forKey: AnyKey("never"))
            try outer.encode(1, forKey: a)
            var list = outer.nestedUnkeyedContainer(forKey: b)
            let inList = list.superEncoder()
            try list.encode(2)
            try ["x": 1].encode(to: late)
            var container = single.singleValueContainer()
            try container.encode("single")
            try [7].encode(to: inList)
        }
        #expect(
            value
                == map(
                    ("super", map(("x", 1))),
                    ("c", "single"),
                    ("never", .map([])),
                    ("a", 1),
                    ("b", .array([.array([7]), 2]))
                )
        )
    }

    @Test("containers are read by turns")
    func interleavedReading() throws {
        struct Probe: Decodable {
            init(from decoder: any Decoder) throws {
                let outer = try decoder.container(keyedBy: AnyKey.self)
                let first = try outer.nestedContainer(keyedBy: AnyKey.self, forKey: a)
                let second = try outer.nestedContainer(keyedBy: AnyKey.self, forKey: b)
                var list = try outer.nestedUnkeyedContainer(forKey: c)
                #expect(try second.decode(Int.self, forKey: a) == 3)
                #expect(try first.decode(Int.self, forKey: b) == 2)
                var inner = try list.nestedUnkeyedContainer()
                #expect(try list.decode(Int.self) == 6)
                #expect(try first.decode(Int.self, forKey: a) == 1)
                #expect(try inner.decode(Int.self) == 5)
                #expect(try second.decode(Int.self, forKey: b) == 4)
                #expect(inner.isAtEnd && list.isAtEnd)
                #expect(outer.allKeys.map(\.stringValue) == ["a", "b", "c"])
                #expect(cborError { _ = try list.decode(Int.self) }?.code == .missingElement(index: 2))
            }
        }
        _ = try decoded(Probe.self, hex: "a36161a26161016162026162a2616103616204616382810506")
    }

    @Test("a value that writes nothing, twice, or in two shapes is refused in words")
    func misuse() throws {
        let scripts: [(any Encoder) throws -> Void] = [
            { _ in },
            { encoder in
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            },
            { encoder in
                _ = encoder.container(keyedBy: AnyKey.self)
                _ = encoder.unkeyedContainer()
            },
        ]
        for script in scripts {
            let buffer = CBORBuffer()
            buffer.append(0x2A)
            let error = cborError { try CBOREncoder().encode(["k": [Script(body: script)]], into: buffer) }
            guard case .valueNotEncodable = error?.code else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(error?.path == "k[0]")
            #expect(buffer.copied() == [0x2A])
        }
    }

    @Test("a value that catches an error inside goes on with a whole container")
    func caughtErrors() throws {
        let value = try tree { encoder in
            var outer = encoder.container(keyedBy: AnyKey.self)
            try outer.encode(1, forKey: a)
            let failing = Script { inner in
                var container = inner.container(keyedBy: AnyKey.self)
                try container.encode(9, forKey: a)
                throw CancellationError()
            }
            #expect(throws: CancellationError.self) { try outer.encode(failing, forKey: b) }
            try outer.encode(3, forKey: c)
        }
        #expect(value == map(("a", 1), ("c", 3)))
    }

    /// The first container has a long head, which is written when the container is left, or none of its own.
    @Test("so do the containers before the error, whether they are still open, empty, or written out of order")
    func caughtErrorsBehindContainers() throws {
        let failing = Script { inner in
            var container = inner.unkeyedContainer()
            try container.encode(9)
            throw CancellationError()
        }
        for isLate in [false, true] {
            let value = try tree { encoder in
                var outer = encoder.container(keyedBy: AnyKey.self)
                var list = outer.nestedUnkeyedContainer(forKey: a)
                for number in 0..<24 { try list.encode(number) }
                #expect(throws: CancellationError.self) { try outer.encode(failing, forKey: b) }
                try outer.encode(3, forKey: c)
                if isLate { try list.encode(24) }
            }
            let numbers = (0..<(isLate ? 25 : 24)).map { CBORValue.unsigned(UInt64($0)) }
            #expect(value == map(("a", .array(numbers)), ("c", 3)))
            let elements = try tree { encoder in
                var outer = encoder.unkeyedContainer()
                var list = outer.nestedUnkeyedContainer()
                for number in 0..<24 { try list.encode(number) }
                #expect(throws: CancellationError.self) { try outer.encode(failing) }
                try outer.encode(3)
                if isLate { try list.encode(24) }
            }
            #expect(elements == .array([.array(numbers), 3]))
        }
        let unused = try tree { encoder in
            var outer = encoder.container(keyedBy: AnyKey.self)
            _ = outer.superEncoder()
            #expect(throws: CancellationError.self) { try outer.encode(failing, forKey: b) }
            try outer.encode(3, forKey: c)
        }
        #expect(unused == map(("super", .map([])), ("c", 3)))
    }

    @Test("containers with long heads, each with a container of its own inside, may be written out of order")
    func separateChildrenInLongContainers() throws {
        let value = try tree { encoder in
            var outer = encoder.unkeyedContainer()
            var late = outer.nestedUnkeyedContainer()
            for number in 0..<300 {
                try outer.encode(
                    Script { inner in
                        var list = inner.unkeyedContainer()
                        for element in 0..<12 { try list.encode(element) }
                        var child = list.nestedUnkeyedContainer()
                        for element in 12..<24 { try list.encode(element) }
                        try child.encode(number)
                    }
                )
            }
            try late.encode("late")
        }
        let numbers = (0..<24).map { CBORValue.unsigned($0) }
        let lists = (0..<300).map { number in
            CBORValue.array(numbers[..<12] + [.array([.unsigned(UInt64(number))])] + numbers[12...])
        }
        #expect(value == .array([.array(["late"])] + lists))
    }

    @Test("the path of an error has a key of up to 1,024 bytes as it is, and the beginning of a longer one")
    func longKeys() throws {
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(1, .init(codingPath: encoder.codingPath, debugDescription: "no good"))
            }
        }
        func path(ofKey key: String) -> String? {
            cborError { _ = try CBOREncoder().encode([key: [Failing()]]) }?.path
        }
        let key = String(repeating: "k", count: 1_024)
        #expect(path(ofKey: key) == key + "[0]")
        #expect(path(ofKey: key + "k") == key + "…[0]")
        let accents = String(repeating: "\u{E9}", count: 511)
        #expect(path(ofKey: "k" + accents + "\u{E9}") == "k" + accents + "…[0]")
    }

    @Test("a container kept past its value can do no harm")
    func escapedContainers() throws {
        var kept: KeyedEncodingContainer<AnyKey>?
        let encoder = CBOREncoder()
        _ = try encoder.encode(
            Script { inner in
                kept = inner.container(keyedBy: AnyKey.self)
                try kept?.encode(1, forKey: a)
            }
        )
        #expect(throws: CBORError.self) { try kept?.encode(2, forKey: b) }
        #expect(try encoder.encode(7) == [7])
    }

    @Test("values nested too deep are refused, with the stack intact")
    func encodingDepth() throws {
        final class Link: Encodable {
            var next: Link?
            init(_ next: Link?) { self.next = next }
        }
        func chain(_ count: Int) -> Link {
            var link = Link(nil)
            for _ in 1..<count { link = Link(link) }
            return link
        }
        _ = try CBOREncoder().encode(chain(64))
        #expect(cborError { _ = try CBOREncoder().encode(chain(65)) }?.code == .depthExceeded(limit: 64))
        let endless = Link(nil)
        endless.next = endless
        #expect(cborError { _ = try CBOREncoder().encode(endless) }?.code == .depthExceeded(limit: 64))
        endless.next = nil
        struct Mirror: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(self)
            }
        }
        #expect(cborError { _ = try CBOREncoder().encode(Mirror()) }?.code == .depthExceeded(limit: 64))
    }
}
