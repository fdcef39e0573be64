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

    /// Checks that untrusted bytes are one whole record; nil if not.
    ///
    /// - Parameter checksum: the checksum that a record with these bytes has at their place.
    init?(_ bytes: UnsafeRawBufferPointer, checksum: UInt32) {
        guard Self.isPlausible(bytes, byteCount: bytes.count),
            let kind = RecordLayout.Kind(rawValue: bytes[RecordLayout.kind]),
            checksum == bytes.number(at: RecordLayout.checksum, as: UInt32.self)
        else { return nil }
        self.bytes = bytes
        nameBytes = Int(bytes.number(at: RecordLayout.nameBytes, as: UInt16.self))
        originBytes = Int(bytes.number(at: RecordLayout.originBytes, as: UInt16.self))
        flags = bytes[RecordLayout.flags]
        self.kind = kind
    }

    /// Whether bytes may begin a record of this length; quick, because a search for the next record checks every place.
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

    /// Whether the process that published the event has this name, byte for byte.
    package func isFrom(_ origin: UnsafeRawBufferPointer) -> Bool { originText.hasBytes(of: origin) }

    package var name: String { String(decoding: nameText, as: UTF8.self) }

    /// The same as ``name``; if the record before has the same name, both share the text.
    package func name(sharing texts: inout RecordTexts) -> String { texts.name(nameText) }

    /// The name of the process that published the event.
    package var origin: String { String(decoding: originText, as: UTF8.self) }

    /// Whether the event was owed to receivers when it was recorded.
    package var isOwed: Bool { flags & RecordLayout.isOwed != 0 }

    /// The event's payload; nil if the record's parts do not fit (no writer of this version leaves such a record).
    package var payload: UnsafeRawBufferPointer? { offsets.map { payload(at: $0) } }

    /// The event's context.
    ///
    /// If ``payload`` is nil, the context has only the event's identity, time and attempt.
    ///
    /// - Parameter texts: those of the record before; the contexts share what is equal.
    package func context(sharing texts: inout RecordTexts) -> EventContext {
        let own = RecordTexts.source(&texts.own, originText, incarnation: incarnation)
        let id = EventID(source: own, number: number)
        guard flags & ~RecordLayout.isOwed != 0, let offsets else {
            return EventContext(id: id, nanosecondsSinceEpoch: time, attempt: attempt)
        }
        let (hasCause, hasRoot) = (flags & RecordLayout.hasCause != 0, flags & RecordLayout.hasRoot != 0)
        return EventContext(
            id: id,
            nanosecondsSinceEpoch: time,
            attempt: attempt,
            cause: hasCause ? identity(at: offsets.cause, &texts.cause) : nil,
            root: hasRoot ? identity(at: offsets.root, &texts.root) : nil,
            traceparent: traceparent(at: offsets.traceparent),
            bookmark: bookmark(at: offsets.bookmark, origin: own.origin)
        )
    }

    /// The event's context, the receivers that the event is owed to, and the payload; nil if ``payload`` is nil.
    package func owedEvent() -> (context: EventContext, owed: [OwedReceiver], payload: UnsafeRawBufferPointer)? {
        guard let offsets else { return nil }
        var texts = RecordTexts()
        return (context(sharing: &texts), receivers(at: offsets.owed, upTo: offsets.payload), payload(at: offsets))
    }

    /// The event's bookmark; nil if the event has none, or if the record's parts do not fit.
    package var bookmark: WorkerBookmark? {
        flags & RecordLayout.hasBookmark == 0 ? nil : offsets.flatMap { bookmark(at: $0.bookmark, origin: origin) }
    }

    /// The bookmarks in a record of bookmarks; nil if the record's parts do not fit.
    package var bookmarks: BookmarkTable? {
        part(RecordLayout.headBytes, bytes.count - RecordLayout.headBytes).flatMap(BookmarkTable.init(entries:))
    }

    // MARK: - Parts

    /// Where the parts that follow the origin begin.
    ///
    /// A part that the record does not have begins where the next one does.
    private struct Offsets {
        var cause: Int
        var root: Int
        var traceparent: Int
        var bookmark: Int
        var owed: Int
        var payload: Int
    }

    /// Nil if the parts do not fit into the record.
    private var offsets: Offsets? {
        let cause = RecordLayout.headBytes + nameBytes + originBytes
        guard let root = flags & RecordLayout.hasCause != 0 ? identityEnd(at: cause) : cause,
            let traceparent = flags & RecordLayout.hasRoot != 0 ? identityEnd(at: root) : root,
            case let bookmark = flags & RecordLayout.hasTraceparent != 0
                ? traceparent + RecordLayout.traceparentBytes : traceparent,
            let owed = flags & RecordLayout.hasBookmark != 0 ? bookmarkEnd(at: bookmark) : bookmark,
            let payload = isOwed ? owedEnd(at: owed) : owed,
            payload <= bytes.count
        else { return nil }
        return Offsets(
            cause: cause,
            root: root,
            traceparent: traceparent,
            bookmark: bookmark,
            owed: owed,
            payload: payload
        )
    }

    private func payload(at offsets: Offsets) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[offsets.payload...])
    }

    private func identityEnd(at offset: Int) -> Int? {
        guard let head = part(offset, RecordLayout.identityBytes) else { return nil }
        return end(of: Int(head.number(at: 16, as: UInt16.self)), at: offset + RecordLayout.identityBytes)
    }

    private func bookmarkEnd(at offset: Int) -> Int? {
        guard let head = part(offset, RecordLayout.bookmarkHeadBytes) else { return nil }
        let count = Int(head.number(at: 2, as: UInt16.self))
        guard count <= BookmarkTable.longestBookmark else { return nil }
        return end(of: Int(head.number(at: 0, as: UInt16.self)) + count, at: offset + RecordLayout.bookmarkHeadBytes)
    }

    private func owedEnd(at offset: Int) -> Int? {
        guard let head = part(offset, RecordLayout.owedHeadBytes) else { return nil }
        var offset = offset + RecordLayout.owedHeadBytes
        for _ in 0..<head.number(at: 0, as: UInt16.self) {
            guard let head = part(offset, RecordLayout.receiverHeadBytes),
                let end = end(
                    of: Int(head.number(at: 1, as: UInt16.self)),
                    at: offset + RecordLayout.receiverHeadBytes
                )
            else { return nil }
            offset = end
        }
        return offset
    }

    private func end(of count: Int, at offset: Int) -> Int? { part(offset, count) == nil ? nil : offset + count }

    /// The cause or the root at this offset.
    private func identity(at offset: Int, _ last: inout EventSource?) -> EventID {
        let origin = text(at: offset + RecordLayout.identityBytes, bytes.number(at: offset + 16))
        let source = RecordTexts.source(&last, origin, incarnation: bytes.number(at: offset))
        return EventID(source: source, number: bytes.number(at: offset + RecordLayout.identityNumber))
    }

    private func traceparent(at offset: Int) -> Traceparent? {
        guard flags & RecordLayout.hasTraceparent != 0 else { return nil }
        let end = offset + RecordLayout.traceparentBytes
        return Traceparent(String(decoding: bytes[offset..<end], as: UTF8.self))
    }

    private func bookmark(at offset: Int, origin: String) -> WorkerBookmark? {
        guard flags & RecordLayout.hasBookmark != 0 else { return nil }
        let begin = offset + RecordLayout.bookmarkHeadBytes
        let worker = text(at: begin, bytes.number(at: offset))
        return WorkerBookmark(
            EventBookmark(Array(text(at: begin + worker.count, bytes.number(at: offset + 2)))),
            of: worker.isEmpty ? origin : String(decoding: worker, as: UTF8.self)
        )
    }

    private func receivers(at offset: Int, upTo end: Int) -> [OwedReceiver] {
        guard isOwed else { return [] }
        var receivers: [OwedReceiver] = []
        var offset = offset + RecordLayout.owedHeadBytes
        while offset < end {
            let name = text(at: offset + RecordLayout.receiverHeadBytes, bytes.number(at: offset + 1))
            receivers.append(
                OwedReceiver(name: String(decoding: name, as: UTF8.self), isSpecified: bytes[offset] & 1 != 0)
            )
            offset += RecordLayout.receiverHeadBytes + name.count
        }
        return receivers
    }

    /// Bytes that ``offsets`` has found to be there.
    private func text(at offset: Int, _ count: UInt16) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + Int(count))])
    }
}
