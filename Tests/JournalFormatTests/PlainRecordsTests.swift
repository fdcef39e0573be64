import DomainEvents
import JournalFormat
import Testing

@Suite("Records of plain events")
struct PlainRecordsTests {
    /// Names and origins that Swift keeps inline, and such that it does not.
    private static let texts = ["n", "BoxProvisioned", "a name of more than fifteen bytes", "Größe-\u{1F4E6}"]

    @Test("They are the very bytes of the records of any event, whatever the payload's length and the place")
    func sameBytes() throws {
        for name in Self.texts {
            for origin in Self.texts {
                let source = EventSource(origin: origin, incarnation: 0xFEDC_BA98_7654_3210)
                let records = try PlainRecords(name: name, source: source)
                for count in [0, 1, 7, 8, 250, 70_000] {
                    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
                    let context = BorrowedContext(
                        source: .passUnretained(source),
                        number: UInt64(count) + 1,
                        nanosecondsSinceEpoch: 1_700_000_000_000_000_001
                    )
                    let record = try EventRecord(name: name, context: context, payloadBytes: count)
                    let plain = try #require(records.record(forPayload: count))
                    #expect(plain.byteCount == record.byteCount && plain.stride == record.stride)
                    let (usual, other) = payload.withUnsafeBytes { payload in
                        (
                            written(record.byteCount) {
                                record.write(
                                    payload,
                                    position: 9,
                                    name: name,
                                    context: context,
                                    into: $0,
                                    seed: 77,
                                    at: 4_096
                                )
                            },
                            written(plain.byteCount) {
                                records.write(payload, position: 9, context: context, into: $0, seed: 77, at: 4_096)
                            }
                        )
                    }
                    #expect(usual == other, "\(name) of \(origin) with \(count) bytes")
                }
            }
        }
    }

    private func written(_ byteCount: Int, _ write: (UnsafeMutableRawBufferPointer) -> UInt32) -> [UInt8] {
        // What lay there before shows if a byte is not written.
        var bytes = [UInt8](repeating: 0xA5, count: byteCount)
        bytes.withUnsafeMutableBytes { bytes in
            let length = write(bytes)
            bytes.storeBytes(of: length, as: UInt32.self)
        }
        return bytes
    }

    @Test("They know their source, and refuse names and payloads beyond the format")
    func limits() throws {
        let (source, other) = (EventSource(origin: "host", incarnation: 1), EventSource(origin: "host", incarnation: 1))
        let records = try PlainRecords(name: "BoxRead", source: source)
        #expect(records.areOf(.passUnretained(source)))
        #expect(!records.areOf(.passUnretained(other)))
        #expect(records.record(forPayload: .max) == nil)
        #expect(records.record(forPayload: 1 << 28) == nil)
        let long = String(repeating: "n", count: EventRecord.longestText + 1)
        #expect(throws: EventRecord.Mistake.self) { try PlainRecords(name: long, source: source) }
    }
}
