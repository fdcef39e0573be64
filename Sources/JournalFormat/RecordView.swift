package import DomainEvents

/// A record in bytes that were read, with a correct checksum.
package struct RecordView {
    /// The whole record.
    private let bytes: UnsafeRawBufferPointer
    private let nameBytes: Int
    private let originBytes: Int
    private let flags: UInt8
    let kind: RecordLayout.Kind

    /// The event's place among all events of the journal; in other kinds of record, the place of the event before them.
    package var position: UInt64 { bytes.number(at: RecordLayout.position) }

    /// When the event was published or became a dead letter, in nanoseconds since 1970-01-01 00:00 UTC.
    package var time: UInt64 { bytes.number(at: RecordLayout.time) }

    /// The incarnation of the process that published the event.
    package var incarnation: UInt64 { bytes.number(at: RecordLayout.incarnation) }

    /// The event's number among those of its incarnation.
    package var number: UInt64 { bytes.number(at: RecordLayout.number) }

    package var byteCount: Int { bytes.count }

    /// Checks that untrusted bytes are one whole record, at `offset` in the segment with this seed; nil if not.
    init?(_ bytes: UnsafeRawBufferPointer, seed: UInt32, at offset: Int) {
        guard Self.isPlausible(bytes, byteCount: bytes.count),
            let kind = RecordLayout.Kind(rawValue: bytes[RecordLayout.kind])
        else { return nil }
        let checksum = RecordLayout.checksum(bytes, seed: seed, at: offset)
        guard checksum == bytes.number(at: RecordLayout.checksum, as: UInt32.self) else { return nil }
        self.bytes = bytes
        nameBytes = Int(bytes.number(at: RecordLayout.nameBytes, as: UInt16.self))
        originBytes = Int(bytes.number(at: RecordLayout.originBytes, as: UInt16.self))
        flags = bytes[RecordLayout.flags]
        self.kind = kind
    }

    /// Whether bytes may begin a record of this length; quick, as a search for the next record checks every place.
    static func isPlausible(_ bytes: UnsafeRawBufferPointer, byteCount: Int) -> Bool {
        guard bytes.count >= RecordLayout.headBytes, byteCount >= RecordLayout.headBytes,
            RecordLayout.Kind(rawValue: bytes[RecordLayout.kind]) != nil,
            bytes[RecordLayout.flags] & ~RecordLayout.allFlags == 0
        else { return false }
        let texts =
            Int(bytes.number(at: RecordLayout.nameBytes, as: UInt16.self))
            + Int(bytes.number(at: RecordLayout.originBytes, as: UInt16.self))
        return texts <= byteCount - RecordLayout.headBytes
    }

    /// The event's attempt; in the note of a dead letter, how often the event was delivered.
    var attempt: Int { Int(bytes.number(at: RecordLayout.attempt, as: UInt16.self)) }

    /// What follows the origin in a record that is not an event's.
    var body: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[(RecordLayout.headBytes + nameBytes + originBytes)...])
    }

    private func part(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer? {
        guard offset <= bytes.count, count <= bytes.count - offset else { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)])
    }

    private var nameText: UnsafeRawBufferPointer {
        part(RecordLayout.headBytes, nameBytes) ?? .init(start: nil, count: 0)
    }

    private var originText: UnsafeRawBufferPointer {
        part(RecordLayout.headBytes + nameBytes, originBytes) ?? .init(start: nil, count: 0)
    }

    /// Whether the event has this name, byte for byte.
    package func isNamed(_ name: UnsafeRawBufferPointer) -> Bool { nameText.hasBytes(of: name) }

    /// Whether the process of this name published the event, byte for byte.
    package func isFrom(_ origin: UnsafeRawBufferPointer) -> Bool { originText.hasBytes(of: origin) }

    package var name: String { String(decoding: nameText, as: UTF8.self) }

    /// The same as ``name``; if the record before has the same name, both share the text.
    package func name(sharing texts: inout RecordTexts) -> String { texts.name(nameText) }

    /// The name of the process that published the event.
    package var origin: String { String(decoding: originText, as: UTF8.self) }

    /// The event's context and payload.
    ///
    /// - Returns: Nil if the parts do not fit into the record; no writer of this version leaves such a record.
    package func event(
        sharing texts: inout RecordTexts
    ) -> (context: EventContext, payload: UnsafeRawBufferPointer)? {
        parts(&texts).map { ($0.context, $0.payload) }
    }

    /// Whether the event was owed to receivers when it was recorded.
    package var isOwed: Bool { flags & RecordLayout.isOwed != 0 }

    /// The same as ``event(sharing:)``, with the receivers that the event is owed to.
    package func owedEvent() -> (context: EventContext, owed: [OwedReceiver], payload: UnsafeRawBufferPointer)? {
        var texts = RecordTexts()
        return parts(&texts).map { ($0.context, Self.receivers(in: $0.owed), $0.payload) }
    }

    /// - Returns: The context, the bytes of the receivers that the event is owed to, and the payload.
    private func parts(
        _ texts: inout RecordTexts
    )
        -> (context: EventContext, owed: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer)?
    {
        var offset = RecordLayout.headBytes + nameBytes + originBytes
        let own = RecordTexts.source(&texts.own, originText, incarnation: incarnation)
        func identity(_ last: inout EventSource?) -> EventID? {
            guard let head = part(offset, RecordLayout.identityBytes) else { return nil }
            let count = Int(head.number(at: 16, as: UInt16.self))
            guard let origin = part(offset + RecordLayout.identityBytes, count) else { return nil }
            offset += RecordLayout.identityBytes + count
            let source = RecordTexts.source(&last, origin, incarnation: head.number(at: 0))
            return EventID(source: source, number: head.number(at: 8))
        }
        var cause: EventID?
        var root: EventID?
        var traceparent: Traceparent?
        if flags & RecordLayout.hasCause != 0 {
            cause = identity(&texts.cause)
            if cause == nil { return nil }
        }
        if flags & RecordLayout.hasRoot != 0 {
            root = identity(&texts.root)
            if root == nil { return nil }
        }
        if flags & RecordLayout.hasTraceparent != 0 {
            guard let text = part(offset, RecordLayout.traceparentBytes) else { return nil }
            traceparent = Traceparent(String(decoding: text, as: UTF8.self))
            offset += RecordLayout.traceparentBytes
        }
        var bookmark: WorkerBookmark?
        if flags & RecordLayout.hasBookmark != 0 {
            bookmark = readBookmark(at: offset, origin: own.origin)
            guard let bookmark else { return nil }
            let worker = bytes.number(at: offset, as: UInt16.self)
            offset += RecordLayout.bookmarkHeadBytes + Int(worker) + bookmark.bookmark.bytes.count
        }
        var owed = UnsafeRawBufferPointer(start: nil, count: 0)
        if isOwed {
            guard let head = part(offset, RecordLayout.owedHeadBytes) else { return nil }
            offset += RecordLayout.owedHeadBytes
            let begin = offset
            for _ in 0..<head.number(at: 0, as: UInt16.self) {
                guard let head = part(offset, RecordLayout.receiverHeadBytes),
                    case let length = RecordLayout.receiverHeadBytes + Int(head.number(at: 1, as: UInt16.self)),
                    part(offset, length) != nil
                else { return nil }
                offset += length
            }
            owed = UnsafeRawBufferPointer(rebasing: bytes[begin..<offset])
        }
        guard let payload = part(offset, bytes.count - offset) else { return nil }
        let context = EventContext(
            id: EventID(source: own, number: number),
            nanosecondsSinceEpoch: time,
            attempt: attempt,
            cause: cause,
            root: root,
            traceparent: traceparent,
            bookmark: bookmark
        )
        return (context, owed, payload)
    }

    /// The receivers in the bytes that ``parts(_:)`` has found.
    private static func receivers(in bytes: UnsafeRawBufferPointer) -> [OwedReceiver] {
        var receivers: [OwedReceiver] = []
        var offset = 0
        while offset < bytes.count {
            let begin = offset + RecordLayout.receiverHeadBytes
            let end = begin + Int(bytes.number(at: offset + 1, as: UInt16.self))
            let name = String(decoding: bytes[begin..<end], as: UTF8.self)
            receivers.append(OwedReceiver(name: name, isSpecified: bytes[offset] & 1 != 0))
            offset = end
        }
        return receivers
    }

    private func readBookmark(at offset: Int, origin: String) -> WorkerBookmark? {
        guard let head = part(offset, RecordLayout.bookmarkHeadBytes) else { return nil }
        let worker = Int(head.number(at: 0, as: UInt16.self))
        let count = Int(head.number(at: 2, as: UInt16.self))
        guard count <= BookmarkTable.longestBookmark,
            let texts = part(offset + RecordLayout.bookmarkHeadBytes, worker + count)
        else { return nil }
        return WorkerBookmark(
            EventBookmark(Array(texts[worker...])),
            of: worker == 0 ? origin : String(decoding: texts[..<worker], as: UTF8.self)
        )
    }

    /// The event's bookmark; nil if the event has none, or if the record's parts do not fit.
    package var bookmark: WorkerBookmark? {
        if flags & RecordLayout.hasBookmark == 0 { return nil }
        var texts = RecordTexts()
        return event(sharing: &texts)?.context.bookmark
    }

    /// The bookmarks in a record of bookmarks; nil if the record's parts do not fit.
    package var bookmarks: BookmarkTable? {
        part(RecordLayout.headBytes, bytes.count - RecordLayout.headBytes).flatMap(BookmarkTable.init(entries:))
    }
}
