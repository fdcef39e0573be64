import Testing

@testable import CBOR

private enum Color: String, Decodable { case red }

private enum Change: Decodable {
    case lost
    case saved(Int)
}

/// An element whose own error is caught.
private struct Lenient<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) throws { value = try? Value(from: decoder) }
}

/// A list that catches its elements' errors, and then asks for another value.
private struct LenientList: Decodable {
    let colors: [Lenient<Color>]
    let last: Int

    enum CodingKeys: String, CodingKey { case colors, last }
}

/// An element that says where it is.
private struct Place: Decodable {
    let path: [String]

    init(from decoder: any Decoder) throws { path = decoder.codingPath.map(\.stringValue) }
}

/// Passes over all elements but the last, which says where it is.
private struct LastPlace: Decodable {
    let path: [String]

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        for _ in 1..<(list.count ?? 1) { _ = try list.decode(String.self) }
        path = try list.decode(Place.self).path
    }
}

/// Types that catch errors, which a peer can cause for each of very many elements.
@Suite("Errors that a type catches", .timeLimit(.minutes(5)))
struct CaughtErrorTests {
    /// An array of so many equal elements.
    private static func array(of count: UInt16, _ element: [UInt8]) -> [UInt8] {
        [0x99, UInt8(count >> 8), UInt8(count & 0xFF)] + repeatElement(element, count: Int(count)).joined()
    }

    /// How many bytes the paths of the last value have cost, in payloads of this size.
    private static func payloadsWalked(_ decoder: CBORDecoder, _ bytes: [UInt8]) -> Int {
        (decoder.session.input.state.pointee.paths.walked - PathAllowance.freeBytes) / bytes.count
    }

    @Test("D22: the paths of 200,000 errors cost as much as a few walks over the payload")
    func steps() throws {
        let decoder = CBORDecoder()
        // Four arrays of 50,000 times the text "x".
        let colors = [0x84] + repeatElement(Self.array(of: 50_000, [0x61, 0x78]), count: 4).joined()
        let read = try decoder.decode([[Lenient<Color>]].self, from: colors).joined()
        #expect(read.count { $0.value == nil } == 200_000)
        #expect(Self.payloadsWalked(decoder, colors) <= PathAllowance.payloads)
        // {"saved": {"_0": 1}, "lost": {}}, where one key was expected.
        let changes = Self.array(of: 10_000, [UInt8](hexadecimal: "a2657361766564a1625f3001646c6f7374a0"))
        #expect(try decoder.decode([Lenient<Change>].self, from: changes).count { $0.value == nil } == 10_000)
        #expect(Self.payloadsWalked(decoder, changes) <= PathAllowance.payloads)
    }

    @Test("D22: the error that ends the decoding has its path, however many were caught before it")
    func lastError() throws {
        // {"colors": ["x", "x", …], "last": "x"}
        let bytes: [UInt8] =
            [UInt8](hexadecimal: "a266636f6c6f7273") + Self.array(of: 50_000, [0x61, 0x78])
            + [UInt8](hexadecimal: "646c6173746178")
        let decoder = CBORDecoder()
        let error = cborError { _ = try decoder.decode(LenientList.self, from: bytes) }
        #expect(error?.path == "last")
        #expect(Self.payloadsWalked(decoder, bytes) >= PathAllowance.payloads, "the allowance is used up")
        // The next value has an allowance of its own.
        #expect(try decoder.decode([Place].self, from: [0x82, 0x01, 0x02]).map(\.path) == [["Index 0"], ["Index 1"]])
    }

    @Test("a type that asks for one path gets it, also at the end of a large payload")
    func onePath() throws {
        let bytes = Self.array(of: 50_000, [0x61, 0x78])
        #expect(try CBORDecoder().decode(LastPlace.self, from: bytes).path == ["Index 49999"])
    }

    @Test("the first walk is allowed whatever it costs, and all together at most so many payloads and one more")
    func allowance() {
        for count in [1, 1_000, PathAllowance.freeBytes, 5_000_000] {
            for bytes in [1_000, count / 3 + 1, count] {
                var paths = PathAllowance()
                var walks = 0
                while walks < 200_000 {
                    guard paths.allowsWalk(over: walks == 0 ? count : bytes, ofPayload: count) else { break }
                    walks += 1
                }
                #expect(walks >= PathAllowance.payloads)
                let allowance = PathAllowance.payloads * count + PathAllowance.freeBytes
                #expect((allowance...allowance + count).contains(paths.walked))
            }
        }
    }

    @Test("an empty payload allows no trap")
    func emptyPayload() {
        var paths = PathAllowance()
        let isAllowed = paths.allowsWalk(over: 9, ofPayload: 0)
        #expect(isAllowed)
        #expect(paths.walked == 0)
    }
}
