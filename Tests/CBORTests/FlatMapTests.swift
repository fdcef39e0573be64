import CBOR
import TestSupport
import Testing

@Suite("Small flat maps")
struct FlatMapTests {
    private static let keys: [CBORValue] = [
        "", "a", "b", "id", "di", "abc", "title", "eltit", "seven77", "eight888", "nine-nine", "sixteen-chars-ab",
        "seventeen-chars-a", "twenty-three-characters", "twenty-four-characters-x", "größe", 1, -1,
    ]

    private static func value(_ number: Int) -> CBORValue {
        let values: [CBORValue] = [
            0, 23, 24, 255, 256, 65_536, 4_294_967_296, -1, -24, -25, .bool(true), .null, .undefined, .simple(3),
            .double(1.5), .double(0.1), .double(3.402_823_466_385_288_6e38), "", "text", "größer als ASCII",
            .text(String(repeating: "long ", count: 9)), .bytes([1, 2]), .array([1, "x"]), .map([]), .tagged(1, 0),
        ]
        return values[number % values.count]
    }

    @Test("every kind of key and value is passed over to its end, and cut short anywhere is refused")
    func everyKind() throws {
        for (index, key) in FlatMapTests.keys.enumerated() {
            for number in 0..<25 {
                let other = FlatMapTests.keys[(index + 1) % FlatMapTests.keys.count]
                let map = CBORValue.map([
                    .init(key: key, value: FlatMapTests.value(number)),
                    .init(key: other, value: FlatMapTests.value(number + 7)),
                ])
                let bytes = try map.encoded()
                #expect(try CBORValue(decoding: bytes) == map)
                for length in 0..<bytes.count {
                    #expect(refusal(of: Array(bytes.prefix(length)))?.code == .unexpectedEnd)
                }
                #expect(refusal(of: bytes + [0])?.code == .trailingBytes(count: 1))
            }
        }
    }

    @Test("a key that comes twice is found, and one that comes once is not taken for another", arguments: 1...20)
    func twins(count: Int) throws {
        let keys = (0..<count).map { CBORValue.text(String(repeating: "k", count: $0 % 5) + String($0, radix: 36)) }
        let entries = keys.map { CBORValue.Entry(key: $0, value: 1) }
        #expect(try CBORValue(decoding: CBORValue.map(entries).encoded()) == .map(entries))
        for first in 0..<count {
            for second in (first + 1)..<max(count, first + 1) {
                var twins = entries
                twins[second].key = twins[first].key
                let bytes = try CBORValue.map(twins).encoded()
                guard case .text(let name) = keys[first] else { return }
                #expect(refusal(of: bytes)?.code == .duplicateKey("\"\(name)\""))
            }
        }
    }

    @Test("the number of items is limited to the item")
    func itemLimit() throws {
        let map = CBORValue.map((0..<4).map { .init(key: .text("k\($0)"), value: .text("v")) })
        let bytes = try map.encoded()
        #expect(refusal(of: bytes, limits: CBORLimits(maximumItems: 9)) == nil)
        for limit in 1..<9 {
            #expect(refusal(of: bytes, limits: CBORLimits(maximumItems: limit))?.code == .tooManyItems(limit: limit))
        }
        let array = try CBORValue.array([1, 2, map]).encoded()
        #expect(refusal(of: array, limits: CBORLimits(maximumItems: 12)) == nil)
        #expect(refusal(of: array, limits: CBORLimits(maximumItems: 11))?.code == .tooManyItems(limit: 11))
    }

    @Test("text that is not UTF-8 is refused at its byte, in keys and values of every length", arguments: 1...75)
    func invalidText(length: Int) throws {
        for position in 0..<length {
            var text = [UInt8](repeating: 0x61, count: length)
            text[position] = 0xFF
            let head: [UInt8] = length < 24 ? [0x60 | UInt8(length)] : [0x78, UInt8(length)]
            let asKey = refusal(of: [0xA1] + head + text + [0])
            #expect(asKey == CBORError(.invalidUTF8, offset: 1 + head.count + position, path: asKey?.path ?? ""))
            let asValue = refusal(of: [0xA1, 0x61, 0x62] + head + text)
            #expect(asValue == CBORError(.invalidUTF8, offset: 3 + head.count + position, path: "b"))
        }
    }

    @Test("definite and indefinite length come to the same, whatever is in the map")
    func mutants() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<20_000 {
            let count = Int(random.next() % 5)
            var content: [UInt8] = []
            for _ in 0..<count {
                content += try FlatMapTests.keys[Int(random.next() % UInt64(FlatMapTests.keys.count))].encoded()
                content += try FlatMapTests.value(Int(random.next() % 25)).encoded()
            }
            if !content.isEmpty, random.next() % 2 == 0 {
                content[Int(random.next() % UInt64(content.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            let definite = Result { try CBORValue(decoding: [0xA0 | UInt8(count)] + content) }
            let indefinite = Result { try CBORValue(decoding: [0xBF] + content + [0xFF]) }
            if let map = try? definite.get() {
                #expect(try indefinite.get() == map, "\(content.hexadecimal)")
            } else if case .success(.map(let entries)) = indefinite, entries.count == count {
                Issue.record("\(content.hexadecimal) is refused with its number of pairs")
            }
        }
    }
}
