import DomainEvents

@testable import JournalFormat

/// Segments that tests make, in memory.
struct SegmentFixture {
    struct Event: Equatable {
        var position: UInt64
        var name: String
        var context: String
        var payload: [UInt8]
    }

    let head: SegmentHead
    private(set) var bytes: [UInt8]
    private(set) var end = SegmentHead.byteCount
    private(set) var events: [Event] = []
    private(set) var notes: [CustodyNote] = []
    /// Where each record begins.
    private(set) var offsets: [Int] = []

    init(
        journal: UInt64 = 7,
        number: UInt64 = 3,
        firstPosition: UInt64 = 41,
        bytes count: Int = 64 << 10,
        bookmarks: BookmarkTable = BookmarkTable()
    ) {
        head = SegmentHead(
            journal: journal,
            number: number,
            segmentBytes: count,
            firstPosition: firstPosition,
            begunAt: 1_700_000_000_000_000_000,
            previousEnd: firstPosition == 1 ? 0 : 5_000,
            bookmarkBytes: bookmarks.recordBytes
        )
        bytes = [UInt8](repeating: 0, count: count)
        var encoded = head.encodedWithoutMark
        withUnsafeBytes(of: SegmentHead.encodedMark) { encoded.replaceSubrange(..<8, with: $0) }
        bytes.replaceSubrange(..<encoded.count, with: encoded)
        guard !bookmarks.isEmpty else { return }
        let (begin, seed) = (end, head.seed)
        bytes.withUnsafeMutableBytes { bytes in
            let target = UnsafeMutableRawBufferPointer(rebasing: bytes[begin..<(begin + bookmarks.recordBytes)])
            let length = bookmarks.write(position: firstPosition - 1, into: target, seed: seed, at: begin)
            target.storeBytes(of: length, as: UInt32.self)
        }
        end += bookmarks.stride
    }

    static func context(_ number: UInt64) -> EventContext {
        let id = EventID(origin: number % 2 == 0 ? "host" : "größe", incarnation: 0xABCD, number: number)
        let cause = EventID(origin: "canvas", incarnation: 5, number: number &+ 100)
        let root = EventID(origin: "client", incarnation: 6, number: number &+ 200)
        return EventContext(
            id: id,
            nanosecondsSinceEpoch: 1_700_000_000_000_000_000 &+ number,
            attempt: Int(number % 3) + 1,
            cause: number % 2 == 0 ? cause : nil,
            root: number % 4 == 0 ? root : nil,
            traceparent: number % 5 == 0 ? Traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") : nil
        )
    }

    /// - Parameters:
    ///   - position: nil for the next one.
    ///   - context: nil for one that follows from the position.
    mutating func append(
        payload: [UInt8],
        name: String = "BoxProvisioned",
        position: UInt64? = nil,
        context: EventContext? = nil,
        owed: [OwedReceiver] = []
    ) throws {
        let position = position ?? head.firstPosition + UInt64(events.count)
        let context = context ?? Self.context(position)
        let offset = end
        end += try context.withBorrowed { context in
            let record = try EventRecord(
                name: name,
                context: context,
                owed: owed,
                payloadBytes: payload.count
            )
            bytes.withUnsafeMutableBytes { bytes in
                let target = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<(offset + record.byteCount)])
                let length = payload.withUnsafeBytes { payload in
                    record.write(
                        payload,
                        position: position,
                        name: name,
                        context: context,
                        owed: owed,
                        into: target,
                        seed: head.seed,
                        at: offset
                    )
                }
                target.storeBytes(of: length, as: UInt32.self)
            }
            return record.stride
        }
        offsets.append(offset)
        events.append(Event(position: position, name: name, context: "\(context)", payload: payload))
    }

    mutating func append(_ note: CustodyNote) {
        let record = NoteRecord(note)
        let (offset, seed) = (end, head.seed)
        let position = head.firstPosition + UInt64(events.count) - 1
        bytes.withUnsafeMutableBytes { bytes in
            let target = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<(offset + record.byteCount)])
            let length = record.write(position: position, into: target, seed: seed, at: offset)
            target.storeBytes(of: length, as: UInt32.self)
        }
        offsets.append(offset)
        end += record.stride
        notes.append(note)
    }

    mutating func close() {
        let (offset, last) = (end, head.firstPosition + UInt64(events.count) - 1)
        bytes.withUnsafeMutableBytes { bytes in
            let target = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<(offset + EndRecord.byteCount)])
            let length = EndRecord.write(position: last, time: 9, into: target, seed: head.seed, at: offset)
            target.storeBytes(of: length, as: UInt32.self)
        }
        end += EndRecord.byteCount
        bytes.removeSubrange(end...)
    }

    /// A segment with some events of different forms and lengths.
    static func made(closed: Bool = false) throws -> SegmentFixture {
        var segment = SegmentFixture()
        for count in [0, 1, 7, 8, 40, 200] {
            try segment.append(payload: (0..<count).map { UInt8(truncatingIfNeeded: $0 + count) })
        }
        if closed { segment.close() }
        return segment
    }
}

/// The result of reading a segment's bytes.
struct SegmentReading: Equatable {
    var events: [SegmentFixture.Event] = []
    /// The sources of the events.
    var sources: [EventSource] = []
    var damages: [SegmentDamage] = []
    var tables: [BookmarkTable?] = []
    var notes: [CustodyNote?] = []
    /// The receivers of the events that are owed to any.
    var owed: [[OwedReceiver]] = []
    var end: SegmentEnd?
    /// Why the head cannot be read.
    var mistake: String?
    /// Whether the file is shorter than its writer left it.
    var isShort = false

    /// Reads bytes in windows of some length.
    ///
    /// - Parameter searched: how far to look for records; tests of many bytes leave out the zeros at the end.
    init(_ bytes: [UInt8], window: Int = .max, searched: Int = .max) {
        self = bytes.withUnsafeBytes { SegmentReading($0, window: window, searched: min(searched, bytes.count)) }
    }

    private init(_ whole: UnsafeRawBufferPointer, window: Int, searched: Int) {
        guard case .head(let head) = SegmentHead.read(whole) else {
            mistake = "\(SegmentHead.read(whole))"
            return
        }
        var walk = SegmentWalk(of: head)
        var length = window
        var texts = RecordTexts()
        while end == nil {
            let start = min(walk.offset, whole.count)
            let stop = min(whole.count, start + min(length, whole.count))
            switch walk.next(in: UnsafeRawBufferPointer(rebasing: whole[start..<stop]), limit: searched) {
            case .needsBytes(let count): length = max(count, window)
            case .damage(let damage): damages.append(damage)
            case .bookmarks(let record):
                length = window
                tables.append(record.bookmarks)
            case .note(let record):
                length = window
                notes.append(record.note)
            case .end(let end): self.end = end
            case .record(let record):
                length = window
                guard let payload = record.payload, let owedEvent = record.owedEvent() else {
                    mistake = "a record whose parts do not fit"
                    return
                }
                let context = record.context(sharing: &texts)
                if record.isOwed { owed.append(owedEvent.owed) }
                let name = record.name(sharing: &texts)
                events.append(
                    .init(position: record.position, name: name, context: "\(context)", payload: Array(payload))
                )
                sources.append(context.id.source)
            }
        }
        isShort = end != .closed && whole.count < head.segmentBytes
    }

    /// Whether something is known to be wrong with the bytes.
    var isReported: Bool {
        if case .torn = end { return true }
        return !damages.isEmpty || mistake != nil || isShort
    }
}
