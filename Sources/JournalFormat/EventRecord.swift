package import DomainEvents

/// An event that is to be written, without its payload.
package struct EventRecord {
    package let position: UInt64
    package let name: String
    package let context: EventContext
    private let flags: UInt8
    private let root: EventID?
    private let owed: [OwedReceiver]
    /// The length of the record with its payload, in bytes.
    package let byteCount: Int
    private let payloadBytes: Int

    /// Why an event does not fit into a record, as the end of a sentence.
    package struct Mistake: Error, Sendable, Hashable {
        package let text: String

        package init(text: String) { self.text = text }
    }

    /// How many bytes a name or an origin may have at most.
    package static let longestText = 4_096
    /// How many receivers an event may be owed to at most.
    package static let mostReceivers = 65_535

    /// - Parameters:
    ///   - position: the event's place among all events of the journal, from 1.
    ///   - owed: the receivers that the event is owed to.
    package init(
        position: UInt64,
        name: String,
        context: EventContext,
        owed: [OwedReceiver] = [],
        payloadBytes: Int
    ) throws(Mistake) {
        self.position = position
        self.owed = owed
        self.name = name
        self.context = context
        self.payloadBytes = payloadBytes
        root = context.root == context.cause ?? context.id ? nil : context.root
        var flags: UInt8 = 0
        var size = RecordLayout.headBytes + name.utf8.count + context.id.origin.utf8.count
        if let cause = context.cause {
            flags |= RecordLayout.hasCause
            size += RecordLayout.identityBytes + cause.origin.utf8.count
        }
        if let root {
            flags |= RecordLayout.hasRoot
            size += RecordLayout.identityBytes + root.origin.utf8.count
        }
        if context.traceparent != nil {
            flags |= RecordLayout.hasTraceparent
            size += RecordLayout.traceparentBytes
        }
        if let bookmark = context.bookmark {
            guard bookmark.bookmark.bytes.count <= BookmarkTable.longestBookmark else {
                throw Mistake(
                    text: """
                        its bookmark has \(bookmark.bookmark.bytes.count) bytes; \(BookmarkTable.longestBookmark) are \
                        the most
                        """
                )
            }
            flags |= RecordLayout.hasBookmark
            size += RecordLayout.bookmarkHeadBytes + bookmark.bookmark.bytes.count
            size += Self.spelled(bookmark, in: context).utf8.count
        }
        if !owed.isEmpty {
            guard owed.count <= Self.mostReceivers else {
                throw Mistake(text: "it is owed to \(owed.count) receivers; \(Self.mostReceivers) are the most")
            }
            flags |= RecordLayout.isOwed
            size += RecordLayout.owedHeadBytes
            for receiver in owed {
                try Self.check(receiver.name)
                size += RecordLayout.receiverHeadBytes + receiver.name.utf8.count
            }
        }
        for text in [
            name, context.id.origin, context.cause?.origin ?? "", root?.origin ?? "", context.bookmark?.worker ?? "",
        ] { try Self.check(text) }
        guard payloadBytes <= Int(RecordLayout.lengthMask) - size else {
            throw Mistake(text: "its payload has \(payloadBytes) bytes")
        }
        self.flags = flags
        byteCount = size + payloadBytes
    }

    private static func check(_ text: String) throws(Mistake) {
        guard text.utf8.count > longestText else { return }
        throw Mistake(text: "a name or an origin has \(text.utf8.count) bytes; \(longestText) are the most")
    }

    /// The name of the bookmark's worker as the record spells it: empty if the event's identity has it.
    private static func spelled(_ bookmark: WorkerBookmark, in context: EventContext) -> String {
        bookmark.worker == context.id.origin ? "" : bookmark.worker
    }

    /// How far after the beginning of this record the next one begins.
    package var stride: Int { RecordLayout.next(after: byteCount) }

    /// Writes the whole record except the length.
    ///
    /// - Parameters:
    ///   - target: the record's ``byteCount`` bytes.
    ///   - offset: where the record begins in its segment.
    /// - Returns: The value of the length field, which the caller stores last.
    package func write(
        _ payload: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer,
        seed: UInt32,
        at offset: Int
    ) -> UInt32 {
        var writer = RecordWriter(
            .event,
            flags: flags,
            name: name,
            id: context.id,
            attempt: context.attempt,
            position: position,
            time: context.nanosecondsSinceEpoch,
            into: target
        )
        if let cause = context.cause { writer.append(cause) }
        if let root { writer.append(root) }
        if let traceparent = context.traceparent { writer.append(traceparent.description) }
        if let bookmark = context.bookmark {
            writer.append(bookmark.bookmark.bytes, of: Self.spelled(bookmark, in: context))
        }
        if !owed.isEmpty { writer.append(owed) }
        writer.append(payload)
        return RecordLayout.sealed(target, seed: seed, at: offset)
    }
}

/// The record with which a journal is closed.
package enum EndRecord {
    package static let byteCount = RecordLayout.headBytes

    /// Writes the whole record except the length; returns the value of the length field, which the caller stores last.
    ///
    /// - Parameter position: the position of the event before this record.
    package static func write(
        position: UInt64,
        time: UInt64,
        into target: UnsafeMutableRawBufferPointer,
        seed: UInt32,
        at offset: Int
    ) -> UInt32 {
        for index in target.indices { target[index] = 0 }
        target.store(RecordLayout.Kind.end.rawValue, at: RecordLayout.kind)
        target.store(position, at: RecordLayout.position)
        target.store(time, at: RecordLayout.time)
        return RecordLayout.sealed(target, seed: seed, at: offset)
    }
}
