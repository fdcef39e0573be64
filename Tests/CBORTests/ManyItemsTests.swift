import BridgePlatform
import Testing

@testable import CBOR

/// Input of very many very small items: work and memory in proportion to it.
@Suite("Very many items")
struct ManyItemsTests {
    private static let count = 100_000

    /// Maps of one pair each, three bytes long.
    private static let maps: [UInt8] =
        [0x9A, 0, 0x01, 0x86, 0xA0] + repeatElement([0xA1, 0, 0] as [UInt8], count: count).joined()

    @Test("D18: every item is met once: as many as there are suffice for the budget, and one fewer does not")
    func budget() {
        let items = 1 + 3 * Self.count
        #expect(refusal(of: Self.maps, limits: CBORLimits(maximumItems: items)) == nil)
        let error = refusal(of: Self.maps, limits: CBORLimits(maximumItems: items - 1))
        #expect(error?.code == .tooManyItems(limit: items - 1))
        #expect(error?.offset == Self.maps.count - 1)
    }

    @Test("D18: tiny maps take at most 64 times as much memory as they have bytes")
    func memory() throws {
        let before = CurrentProcess.heapBytesInUse()
        let value = try CBORValue(decoding: Self.maps)
        let after = CurrentProcess.heapBytesInUse()
        guard case .array(let elements) = value else {
            Issue.record("not an array")
            return
        }
        #expect(elements.count == Self.count)
        guard let before, let after else {
            print("not tested: D18 memory, as nothing counts the heap here")
            return
        }
        #expect(after - before <= 64 * Self.maps.count)
    }

    @Test("D18: a container in an array that is written out of order takes at most 1 KiB")
    func separateChildren() throws {
        struct Late: Encodable {
            func encode(to encoder: any Encoder) throws {
                var outer = encoder.unkeyedContainer()
                var first = outer.nestedUnkeyedContainer()
                let before = CurrentProcess.heapBytesInUse()
                for number in 0..<10_000 {
                    var inner = outer.nestedUnkeyedContainer()
                    try inner.encode(number)
                }
                let after = CurrentProcess.heapBytesInUse()
                // The first time this throws, and the containers are written again, each into a buffer of its own.
                try first.encode("first")
                guard let before, let after else {
                    return print("not tested: D18 memory, as nothing counts the heap here")
                }
                #expect(after - before <= 10_000 * 1_024)
            }
        }
        guard case .array(let elements) = try CBORValue(decoding: CBOREncoder().encode(Late())) else {
            Issue.record("not an array")
            return
        }
        #expect(elements.count == 10_001)
        #expect(elements.first == .array(["first"]))
    }

    @Test("D18: a key among 50,000 is compared with few others")
    func comparisons() {
        var table = KeyTable()
        var compared = 0
        for number in UInt32(0)..<50_000 {
            var hasher = Hasher()
            hasher.combine(number)
            let hash = UInt32(truncatingIfNeeded: hasher.finalize())
            let found = table.first(withHash: hash) { _ in
                compared += 1
                return false
            }
            #expect(found == nil)
            table.insert(hash: hash, offset: number, entry: 0)
        }
        // Now and then two keys have the same 32 bits.
        #expect(compared < 50)
        #expect(table.count == 50_000)
    }

    @Test("D18: keys that a peer chose so that their fingerprints are all the same are told apart all the same")
    func collisions() throws {
        // For 8 bytes or more, the fingerprint is made from the first eight bytes, the last eight and the length.
        let entries = (0..<5_000).map { number in
            let middle = String(number + 10_000)
            return CBORValue.Entry(key: .text("same begin\(middle)same ending"), value: .null)
        }
        let bytes = try CBORValue.map(entries).encoded()
        #expect(try CBORValue(decoding: bytes) == .map(entries))
        let twice = try CBORValue.map(entries + [entries[17]]).encoded()
        #expect(refusal(of: twice)?.code == .duplicateKey("\"same begin10017same ending\""))
    }
}
