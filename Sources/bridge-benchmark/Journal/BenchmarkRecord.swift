import CBOR
import DomainEvents

/// The events that the works with a journal keep: 256 bytes in CBOR, whatever their number.
protocol FilledEvent: DomainEvent {
    var id: Int64 { get }
    var text: String { get }
}

extension FilledEvent {
    /// Ends the program if this is not the event with this number.
    @inline(__always)
    func check(_ number: Int64) {
        if id != Filler.firstID + number || text != Filler.text { Report.fail("event \(id) came as number \(number)") }
    }
}

/// The event that the works record.
struct BenchmarkRecord: FilledEvent {
    let id: Int64
    let text: String

    static let payloadBytes = 256

    /// The event with this number.
    @inline(__always)
    init(_ number: Int64) {
        id = Filler.firstID + number
        text = Filler.text
    }

    /// The event with this number in CBOR.
    static func payload(_ number: Int64) throws -> [UInt8] {
        try CBOREncoder().encode(BenchmarkRecord(number))
    }
}

/// The same event, read by its layout.
struct BenchmarkLaidOutRecord: FilledEvent, LaidOutEvent {
    let id: Int64
    let text: String

    static let layout = EventLayout(Self.init(id:text:), .field("id", \.id), .field("text", \.text))
    static let eventName = BenchmarkRecord.eventName
}

/// What all of these events have in common.
private enum Filler {
    /// The identifier of event 0; this identifier and all higher ones take nine bytes in CBOR.
    static let firstID: Int64 = 1 << 32
    static let text = String(repeating: "x", count: 236)
}
