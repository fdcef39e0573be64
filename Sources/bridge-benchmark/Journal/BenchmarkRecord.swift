import CBOR
import DomainEvents

/// The event that the works with a journal keep: 256 bytes in CBOR, whatever its number.
struct BenchmarkRecord: DomainEvent {
    let id: Int64
    let text: String

    static let payloadBytes = 256

    /// The identifier of event 0; from here on, an identifier takes nine bytes in CBOR.
    private static let firstID: Int64 = 1 << 32
    private static let filler = String(repeating: "x", count: 236)

    /// The event with this number.
    @inline(__always)
    init(_ number: Int64) {
        id = Self.firstID + number
        text = Self.filler
    }

    /// Ends the program if this is not the event with this number.
    @inline(__always)
    func check(_ number: Int64) {
        if id != Self.firstID + number || text != Self.filler { Report.fail("event \(id) came as number \(number)") }
    }

    /// The event with this number in CBOR.
    static func payload(_ number: Int64) throws -> [UInt8] {
        try CBOREncoder().encode(BenchmarkRecord(number))
    }
}
