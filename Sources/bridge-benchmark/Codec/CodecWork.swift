import BridgePlatform
import BridgeProtocol
import CAllocationCounter
import CBOR
import FoundationEssentials

/// Measures how long it takes to turn the small event into bytes and back, with coders and buffers that are reused.
enum CodecWork {
    static func run(count: Int64) throws {
        let coder = PayloadCoder<BenchmarkLaidOutEvent>()
        let encoder = CBOREncoder()
        let decoder = CBORDecoder()
        let buffer = CBORBuffer()

        try measure("codec-encode", EventForm.codable.peer, count) { id in
            buffer.removeAll()
            try encoder.encode(BenchmarkEvent(id), into: buffer)
        }
        try measure("codec-encode", EventForm.layout.peer, count) { id in
            buffer.removeAll()
            try coder.encode(BenchmarkLaidOutEvent(id), into: buffer, with: encoder)
        }
        let encoded = try payloads { try CBOREncoder().encode(BenchmarkEvent($0)) }
        try measure("codec-decode", EventForm.codable.peer, count) { id in
            try check(encoded.withBytes(of: id) { try decoder.decode(BenchmarkEvent.self, from: $0) }, id)
        }
        try measure("codec-decode", EventForm.layout.peer, count) { id in
            try check(encoded.withBytes(of: id) { try coder.decode($0, with: decoder) }, id)
        }
        try measureFoundation(max(1, count / 10))
    }

    /// Measures Foundation's coders for comparison.
    private static func measureFoundation(_ count: Int64) throws {
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()
        try measure("codec-encode", "foundation-json", count) { id in _ = try encoder.encode(BenchmarkEvent(id)) }
        let texts = try (0..<Payloads.count).map { try encoder.encode(BenchmarkEvent($0)) }
        try measure("codec-decode", "foundation-json", count) { id in
            let text = texts[Int(id % Payloads.count)]
            try check(decoder.decode(BenchmarkEvent.self, from: text), id)
        }
    }

    /// Warms up with `count / 10` calls, times `count` calls, then counts the allocations of a thousand more.
    private static func measure(_ work: String, _ peer: String, _ count: Int64, _ body: (Int64) throws -> Void) throws {
        for id in 0..<max(1, count / 10) { try body(id) }
        let begin = MonotonicClock.now()
        for id in 0..<count { try body(id) }
        let time = MonotonicClock.now() - begin
        let counted: Int64 = 1_000
        var allocations: Int64?
        if cac_is_counting_possible() == 1 {
            cac_begin()
            defer { allocations = cac_end() }
            for id in 0..<counted { try body(id) }
        }
        Report.codec(
            work,
            peer: peer,
            count,
            nanoseconds: time,
            allocations: allocations.map { Double($0) / Double(counted) }
        )
    }

    private static func check<Event: TitledEvent>(_ event: Event, _ id: Int64) throws {
        guard event.id == id % Payloads.count else { Report.fail("event \(id) was decoded as \(event.id)") }
        event.checkTitle()
    }

    // MARK: - Bytes to decode

    /// The bytes of some events, one after the other.
    private struct Payloads {
        static let count: Int64 = 1_000

        let bytes: [UInt8]
        let ranges: [Range<Int>]

        func withBytes<R>(of id: Int64, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
            try bytes.withUnsafeBytes {
                try body(UnsafeRawBufferPointer(rebasing: $0[ranges[Int(id % Self.count)]]))
            }
        }
    }

    private static func payloads(_ encode: (Int64) throws -> [UInt8]) rethrows -> Payloads {
        var bytes: [UInt8] = []
        var ranges: [Range<Int>] = []
        for id in 0..<Payloads.count {
            let start = bytes.count
            bytes += try encode(id)
            ranges.append(start..<bytes.count)
        }
        return Payloads(bytes: bytes, ranges: ranges)
    }
}
