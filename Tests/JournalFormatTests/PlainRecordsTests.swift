import DomainEvents
import JournalFormat
import Testing

@Suite("Records of plain events")
struct PlainRecordsTests {
    /// Names and origins that Swift keeps inline, and such that it does not.
    private static let texts = ["n", "BoxProvisioned", "a name of more than fifteen bytes", "Größe-\u{1F4E6}"]
    private static let receivers = texts.map { OwedReceiver(name: $0, isSpecified: $0 == "n") }

    /// What the records of alike events share.
    private struct Kind {
        let name: String
        let source: EventSource
        var cause: EventSource?
        var root: EventSource?
        var owed: [OwedReceiver] = []

        /// The context of the event of this number.
        func context(_ number: UInt64) -> BorrowedContext {
            BorrowedContext(
                source: .passUnretained(source),
                number: number,
                nanosecondsSinceEpoch: 1_700_000_000_000_000_000 + number,
                cause: cause.map { BorrowedID(source: .passUnretained($0), number: number + 100) },
                root: root.map { BorrowedID(source: .passUnretained($0), number: number + 200) }
            )
        }

        func records() throws -> PlainRecords { try PlainRecords(name: name, like: context(1), owed: owed) }
    }

    /// All combinations of names, sources, causes, roots and receivers.
    private static var kinds: [Kind] {
        let sources = texts.map { EventSource(origin: $0, incarnation: 0xFEDC_BA98_7654_3210) }
        let others: [EventSource?] = [
            nil, EventSource(origin: "host", incarnation: 7), EventSource(origin: texts[2], incarnation: 8),
        ]
        let lists: [[OwedReceiver]] = [[], Array(receivers[..<1]), receivers]
        var kinds: [Kind] = []
        for name in texts {
            for source in sources {
                let known: [EventSource?] = others + [source]
                for cause in known {
                    for root in known {
                        for owed in lists {
                            kinds.append(Kind(name: name, source: source, cause: cause, root: root, owed: owed))
                        }
                    }
                }
            }
        }
        return kinds
    }

    @Test("They are the very bytes of the records of any event, whatever the payload's length and the place")
    func sameBytes() throws {
        for kind in Self.kinds {
            let records = try kind.records()
            for count in [0, 1, 7, 8, 250] { try expectSameBytes(records, kind, kind.context(UInt64(count)), count) }
        }
        let kind = Kind(name: "n", source: EventSource(origin: "host", incarnation: 1))
        try expectSameBytes(kind.records(), kind, kind.context(1), 70_000)
    }

    @Test("A root that follows from the cause or the event is not stated, whatever form it came in")
    func impliedRoot() throws {
        let (own, cause) = (EventSource(origin: "a", incarnation: 1), EventSource(origin: "b", incarnation: 2))
        let twin = EventSource(origin: "b", incarnation: 2)
        let causes: [EventSource?] = [nil, cause]
        for cause in causes {
            let kind = Kind(name: "n", source: own, cause: cause)
            let records = try kind.records()
            let roots: [EventSource?] = cause == nil ? [own] : [cause, twin]
            for root in roots {
                let context = BorrowedContext(
                    source: .passUnretained(own),
                    number: 5,
                    nanosecondsSinceEpoch: 6,
                    cause: kind.context(5).cause,
                    root: root.map {
                        BorrowedID(source: .passUnretained($0), number: kind.context(5).cause?.number ?? 5)
                    }
                )
                try expectSameBytes(records, kind, context, 3)
            }
        }
        withExtendedLifetime((own, cause, twin)) {}
    }

    private func expectSameBytes(
        _ records: PlainRecords,
        _ kind: Kind,
        _ context: BorrowedContext,
        _ count: Int
    ) throws {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let record = try EventRecord(name: kind.name, context: context, owed: kind.owed, payloadBytes: count)
        let plain = try #require(records.record(of: context, owed: kind.owed, payloadBytes: count))
        #expect(plain.byteCount == record.byteCount && plain.stride == record.stride)
        let (usual, other) = payload.withUnsafeBytes { payload in
            (
                written(record.byteCount) {
                    record.write(
                        payload,
                        position: 9,
                        name: kind.name,
                        context: context,
                        owed: kind.owed,
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
        #expect(usual == other, "\(kind) with \(count) bytes")
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

    @Test("They say which events are theirs, and refuse texts and payloads beyond the format")
    func limits() throws {
        let (source, twin) = (EventSource(origin: "host", incarnation: 1), EventSource(origin: "host", incarnation: 1))
        let kind = Kind(name: "BoxRead", source: source, cause: source, root: twin, owed: Self.receivers)
        let records = try kind.records()
        func knows(_ other: Kind, _ payloadBytes: Int = 0) -> Bool {
            records.record(of: other.context(3), owed: other.owed, payloadBytes: payloadBytes) != nil
        }
        #expect(knows(kind))
        // Equal receivers need not lie in the same array.
        #expect(knows(Kind(name: "", source: source, cause: source, root: twin, owed: Self.receivers.map { $0 })))
        #expect(!knows(Kind(name: "", source: twin, cause: source, root: twin, owed: kind.owed)))
        let otherCauses: [EventSource?] = [nil, twin]
        for cause in otherCauses {
            #expect(!knows(Kind(name: "", source: source, cause: cause, root: twin, owed: kind.owed)))
        }
        let otherRoots: [EventSource?] = [nil, source]
        for root in otherRoots {
            #expect(!knows(Kind(name: "", source: source, cause: source, root: root, owed: kind.owed)))
        }
        let otherLists: [[OwedReceiver]] = [[], Array(kind.owed[..<1]), kind.owed.reversed()]
        for owed in otherLists {
            #expect(!knows(Kind(name: "", source: source, cause: source, root: twin, owed: owed)))
        }
        #expect(!knows(kind, Int.max))
        #expect(!knows(kind, 1 << 28))
        let long = String(repeating: "n", count: EventRecord.longestText + 1)
        #expect(throws: EventRecord.Mistake.self) { try Kind(name: long, source: source).records() }
        #expect(throws: EventRecord.Mistake.self) {
            try Kind(name: "n", source: source, owed: [OwedReceiver(name: long, isSpecified: true)]).records()
        }
    }
}
