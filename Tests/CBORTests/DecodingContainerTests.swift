import CBOR
import Testing

/// The elements of an array, each read in another way.
private struct Elements: Decodable {
    private final class Base: Decodable {
        let name: String
    }

    let counted: Int?
    let first: Int
    let second: String
    let third: [UInt8]
    let rest: Int?

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        counted = container.count
        first = try container.nestedContainer(keyedBy: AnyKey.self).decode(Int.self, forKey: AnyKey("a"))
        second = try Base(from: container.superDecoder()).name
        var inner = try container.nestedUnkeyedContainer()
        var third: [UInt8] = []
        while !inner.isAtEnd { third.append(try inner.decode(UInt8.self)) }
        self.third = third
        rest = try container.decodeIfPresent(Int.self)
    }
}

/// A map in a map in a map, and so on, all of them open at once, with a number at its end.
private struct OpenMaps: Decodable {
    let levels: Int
    let number: Int

    init(from decoder: any Decoder) throws {
        var open = [try decoder.container(keyedBy: AnyKey.self)]
        while let last = open.last, last.contains(AnyKey("in")) {
            open.append(try last.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("in")))
        }
        levels = open.count
        var number = 0
        // From the inside to the outside, and back: each container still has its place.
        for container in open.reversed() + open { number += try container.decode(Int.self, forKey: AnyKey("n")) }
        self.number = number
    }
}

/// Reads a nested map through a container of its own, then a value far behind it.
private struct Passing: Decodable {
    let inner: Int
    let far: Int
    let near: Int

    init(from decoder: any Decoder) throws {
        let outer = try decoder.container(keyedBy: AnyKey.self)
        inner = try outer.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("m")).decode(
            Int.self,
            forKey: AnyKey("i")
        )
        far = try outer.decode(Int.self, forKey: AnyKey("far"))
        near = try outer.decode(Int.self, forKey: AnyKey("near"))
    }
}

private struct Narrow: Codable, Equatable {
    var integer: Int16?
    var number: Float?
}

@Suite("Containers, read by hand")
struct DecodingContainerTests {
    @Test("elements are read as maps, by superclasses, as arrays; an array says how many it has if it knows")
    func elements() throws {
        // [{"a": 7}, {"name": "n"}, [1, 2]]
        let items = "a1616107" + "a1646e616d65616e" + "820102"
        let definite = try decoded(Elements.self, hex: "83" + items)
        #expect(definite.counted == 3)
        #expect((definite.first, definite.second, definite.third, definite.rest) == (7, "n", [1, 2], nil))
        let indefinite = try decoded(Elements.self, hex: "9f" + items + "1863ff")
        #expect(indefinite.counted == nil)
        #expect((indefinite.first, indefinite.second, indefinite.third, indefinite.rest) == (7, "n", [1, 2], 99))
        let error = #expect(throws: CBORError.self) { try decoded(Elements.self, hex: "82" + items.dropLast(6)) }
        #expect(error?.code == .missingElement(index: 2))
        #expect(throws: CBORError.self) { try decoded(Elements.self, hex: "83" + "07" + "00" + "00") }
    }

    @Test("many open containers do not disturb each other", arguments: [1, 2, 5, 9, 20])
    func openContainers(levels: Int) throws {
        // {"n": 1, "in": {"n": 1, "in": … {"n": 1}}}
        let nest = String(repeating: "a2616e0162696e", count: levels - 1) + "a1616e01"
        let read = try decoded(OpenMaps.self, hex: nest)
        #expect((read.levels, read.number) == (levels, 2 * levels))
    }

    @Test("a map that was read by a container of its own is passed over")
    func passing() throws {
        // {"m": {"i": 1}, "near": 2, "far": 3}, of both kinds.
        let entries = "616d" + "a1616901" + "646e65617202" + "6366617203"
        for bytes in ["a3" + entries, "bf" + entries + "ff", "a3" + entries.replacing("a1616901", with: "bf616901ff")] {
            let read = try decoded(Passing.self, hex: bytes)
            #expect((read.inner, read.far, read.near) == (1, 3, 2))
        }
    }

    @Test("narrow numbers may be missing, null or out of range")
    func narrow() throws {
        for value in [Narrow(), Narrow(integer: -32_768, number: 1.5), Narrow(integer: 32_767, number: -.infinity)] {
            #expect(try roundTrip(value) == value)
        }
        // {"integer": null, "number": null}
        #expect(try decoded(Narrow.self, hex: "a267696e7465676572f6666e756d626572f6") == Narrow())
        // {"integer": 32768}
        let error = #expect(throws: CBORError.self) { try decoded(Narrow.self, hex: "a167696e7465676572198000") }
        #expect(error?.description.contains("integer") == true)
    }

    @Test("a reader at the end of its bytes, or before something else, says so")
    func readerBounds() {
        var atEnd = CBORReader(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(#expect(throws: CBORError.self) { try atEnd.readBool() }?.code == .unexpectedEnd)
        #expect(#expect(throws: CBORError.self) { try atEnd.readNull() }?.code == .unexpectedEnd)
        let error = [UInt8]([0x01]).withUnsafeBytes { bytes in
            var reader = CBORReader(bytes)
            return #expect(throws: CBORError.self) { try reader.readTag() }
        }
        #expect(error?.description.contains("a tag") == true)
    }
}
