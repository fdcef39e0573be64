package import DomainEvents

/// The size of an event's record, and which optional parts the record has, computed before the record is written.
///
/// This value holds no reference, because counting one would cost time for each event. The caller therefore passes the
/// event to ``write(_:position:name:context:owed:into:seed:at:)`` as well.
package struct EventRecord: BitwiseCopyable {
    private let flags: UInt8
    /// The length of the record with its payload, in bytes.
    package let byteCount: Int
    /// The distance from the beginning of this record to the next record, in bytes.
    package let stride: Int

    /// Why an event cannot be recorded, as the end of a sentence.
    package struct Mistake: Error, Sendable, Hashable {
        package let text: String

        package init(text: String) { self.text = text }
    }

    /// How many bytes a name or an origin may have at most.
    package static let longestText = 4_096
    /// How many receivers an event may be owed to at most.
    package static let mostReceivers = 65_535

    /// - Parameters:
    ///   - owed: the receivers that the event is owed to.
    package init(
        name: String,
        context: BorrowedContext,
        owed: [OwedReceiver] = [],
        payloadBytes: Int
    ) throws(Mistake) {
        var flags: UInt8 = 0
        let originBytes = context.source._withUnsafeGuaranteedRef { $0.origin.utf8.count }
        try Self.check(name.utf8.count)
        try Self.check(originBytes)
        var size = RecordLayout.headBytes + name.utf8.count + originBytes
        if let cause = context.cause {
            flags |= RecordLayout.hasCause
            size += try Self.byteCount(of: cause)
        }
        if context.traceparent != nil {
            flags |= RecordLayout.hasTraceparent
            size += RecordLayout.traceparentBytes
        }
        if let root = context.spelledRoot {
            flags |= RecordLayout.hasRoot
            size += try Self.byteCount(of: root)
        }
        if let bookmark = context.bookmark {
            try Self.check(bookmark.worker.utf8.count)
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
            size += Self.spelled(bookmark, context).utf8.count
        }
        if !owed.isEmpty {
            guard owed.count <= Self.mostReceivers else {
                throw Mistake(text: "it is owed to \(owed.count) receivers; \(Self.mostReceivers) are the most")
            }
            flags |= RecordLayout.isOwed
            size += RecordLayout.owedHeadBytes
            for receiver in owed {
                try Self.check(receiver.name.utf8.count)
                size += RecordLayout.receiverHeadBytes + receiver.name.utf8.count
            }
        }
        guard payloadBytes <= Int(RecordLayout.lengthMask) - size else {
            throw Mistake(text: "its payload has \(payloadBytes) bytes; \(Int(RecordLayout.lengthMask) - size) fit")
        }
        self.init(flags, byteCount: size + payloadBytes)
    }

    /// One of ``PlainRecords``, of this length.
    init(plain byteCount: Int) { self.init(0, byteCount: byteCount) }

    private init(_ flags: UInt8, byteCount: Int) {
        self.flags = flags
        self.byteCount = byteCount
        stride = RecordLayout.next(after: byteCount)
    }

    private static func check(_ byteCount: Int) throws(Mistake) {
        guard byteCount > longestText else { return }
        throw Mistake(text: "a name or an origin has \(byteCount) bytes; \(longestText) are the most")
    }

    /// The length of a cause or a root in its record.
    private static func byteCount(of id: BorrowedID) throws(Mistake) -> Int {
        let originBytes = id.source._withUnsafeGuaranteedRef { $0.origin.utf8.count }
        try check(originBytes)
        return RecordLayout.identityBytes + originBytes
    }

    /// The name of the bookmark's worker as the record states it: empty if the worker is the event's origin.
    private static func spelled(_ bookmark: WorkerBookmark, _ context: BorrowedContext) -> String {
        bookmark.worker == context.id.origin ? "" : bookmark.worker
    }

    /// Writes the whole record except the length.
    ///
    /// - Parameters:
    ///   - position: the event's place among all events of the journal, from 1.
    ///   - name: the same as in `init`, like `context`, `owed` and the length of `payload`.
    ///   - target: the record's ``byteCount`` bytes.
    ///   - offset: where the record begins in its segment.
    /// - Returns: The value of the length field, which the caller stores last.
    package func write(
        _ payload: UnsafeRawBufferPointer,
        position: UInt64,
        name: String,
        context: BorrowedContext,
        owed: [OwedReceiver] = [],
        into target: UnsafeMutableRawBufferPointer,
        seed: UInt32,
        at offset: Int
    ) -> UInt32 {
        var writer = RecordWriter(
            .event,
            flags: flags,
            name: name,
            source: context.source,
            number: context.number,
            attempt: context.attempt,
            position: position,
            time: context.nanosecondsSinceEpoch,
            into: target
        )
        if let cause = context.cause { writer.append(cause) }
        if let root = context.spelledRoot { writer.append(root) }
        if let traceparent = context.traceparent { writer.append(traceparent.description) }
        if let bookmark = context.bookmark {
            writer.append(bookmark.bookmark.bytes, of: Self.spelled(bookmark, context))
        }
        if !owed.isEmpty { writer.append(owed) }
        writer.append(payload)
        return RecordLayout.sealed(target, seed: seed, at: offset)
    }
}

extension BorrowedContext {
    /// The root that the event's record states; nil if the root follows from the cause or the event's identity.
    var spelledRoot: BorrowedID? {
        guard let knownRoot, knownRoot != cause ?? borrowedID else { return nil }
        return knownRoot
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
