import BridgeProtocol
import CBOR
import DomainEvents
import Testing

@testable import EventRouting

private struct Keyed: DomainEvent {
    let note: String
    let key: Int
}

@Suite("The key of an encoded event")
struct EventKeyTests {
    private func place(_ bytes: [UInt8]) -> KeyPlace? { bytes.withUnsafeBytes { KeyPlace($0) } }

    private func field(_ name: String, _ payload: [UInt8]) -> [UInt8]? {
        payload.withUnsafeBytes { bytes in PayloadField.range(of: name, in: bytes).map { Array(bytes[$0]) } }
    }

    @Test("Equal values have one place, however they are encoded")
    func sameValue() {
        #expect(place([0x07]) == place([0x18, 0x07]))
        #expect(place([0x07]) == place([0x1B, 0, 0, 0, 0, 0, 0, 0, 7]))
        #expect(place([0x61, 0x61]) == place([0x78, 0x01, 0x61]))
        #expect(place([0x07]) != place([0x27]))
        #expect(place([0x61, 0x61]) != place([0x41, 0x61]))
        #expect(place([0x07]) != nil)
    }

    @Test("Nothing, null and what is no item are no keys")
    func noKey() {
        #expect(place([]) == nil)
        #expect(place([0xF6]) == nil)
        #expect(place([0xF7]) == nil)
        #expect(place([0x1C]) == nil)
    }

    @Test("Neighbouring numbers and texts are spread evenly", arguments: [2, 5, 32])
    func spread(count: Int) throws {
        for encode in [{ try CBOREncoder().encode($0) }, { try CBOREncoder().encode("key-\($0)") }]
            as [(Int) throws -> [UInt8]]
        {
            var events = [Int](repeating: 0, count: count)
            let keys = 400 * count
            for key in 0..<keys { events[try #require(place(try encode(key))).index(among: count)] += 1 }
            // Five standard deviations of a fair draw.
            #expect(events.allSatisfy { abs($0 - 400) < 100 })
        }
    }

    @Test("A field is found in the encoded event, and a function of the event finds the same place")
    func fieldAndFunction() throws {
        for key in [-1, 0, 23, 24, 65_536, Int.max] {
            let event = Keyed(note: "key", key: key)
            let payload = try CBOREncoder().encode(event)
            #expect(field("key", payload) == (try CBOREncoder().encode(key)))
            #expect(field("ke", payload) == nil)
            #expect(field("missing", payload) == nil)
            let finder = TypedKeyFinder<Keyed>(\.key)
            #expect(finder.place(ofEvent: event) == place(try CBOREncoder().encode(key)))
            #expect(payload.withUnsafeBytes { finder.place(of: $0) } == finder.place(ofEvent: event))
        }
    }

    @Test("Of damaged payloads either a field or none is found")
    func damaged() throws {
        let payload = try CBOREncoder().encode(Keyed(note: "note", key: 7))
        let finder = TypedKeyFinder<Keyed>(\.key)
        for position in payload.indices {
            for byte in UInt8.min ... .max {
                var damaged = payload
                damaged[position] = byte
                for bytes in [damaged, Array(damaged[..<position])] {
                    if let value = field("key", bytes) { _ = place(value) }
                    _ = bytes.withUnsafeBytes { finder.place(of: $0) }
                }
            }
        }
        // A map that says it has more pairs than any payload has bytes, and one that is nested without end.
        #expect(field("key", [0xBB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) == nil)
        #expect(field("key", [0xA1, 0x61, 0x61] + [UInt8](repeating: 0x81, count: 100_000)) == nil)
    }
}
