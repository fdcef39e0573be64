package import DomainEvents

/// The records of events that are alike.
///
/// Such events are plain (`BorrowedContext.isPlain`) and owed to the same receivers. They have one name and one source,
/// their causes have one source, and so have their roots. Nearly all events of one name in a row are alike. The records
/// of such events differ only in a few numbers and the payload, so the rest is made once. The bytes of each record are
/// those that ``EventRecord`` would write.
package final class PlainRecords: @unchecked Sendable {
    // Sendable: nothing changes after `init`; `head` points to memory that this object owns.
    private let source: UnsafeMutableRawPointer
    /// The source of the causes; nil if the events have none.
    private let cause: UnsafeMutableRawPointer?
    /// The source of the roots; nil if the records state none.
    private let root: UnsafeMutableRawPointer?
    /// Keeps the sources, so that no other source gets their addresses.
    private let sources: [EventSource]
    private let owed: [OwedReceiver]
    /// All bytes before the payload; each record gets its own numbers.
    private let head: UnsafeMutableRawBufferPointer
    /// Where the number of a cause lies.
    private let causeNumber: Int
    /// Where the number of a root lies.
    private let rootNumber: Int

    /// - Parameters:
    ///   - context: the context of a plain event that the others are like.
    ///   - owed: the receivers that the events are owed to.
    package init(name: String, like context: BorrowedContext, owed: [OwedReceiver]) throws(EventRecord.Mistake) {
        let (cause, root) = (context.cause?.source, context.spelledRoot?.source)
        // This root's number differs from the cause's and the event's; otherwise the record would not state the root.
        let blank = BorrowedContext(
            source: context.source,
            number: 0,
            nanosecondsSinceEpoch: 0,
            cause: cause.map { BorrowedID(source: $0, number: 0) },
            root: root.map { BorrowedID(source: $0, number: 1) }
        )
        let record = try EventRecord(name: name, context: blank, owed: owed, payloadBytes: 0)
        let head = UnsafeMutableRawBufferPointer.allocate(byteCount: record.byteCount, alignment: 8)
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        _ = record.write(none, position: 0, name: name, context: blank, owed: owed, into: head, seed: 0, at: 0)
        var end = RecordLayout.headBytes + name.utf8.count
        end += context.source._withUnsafeGuaranteedRef { $0.origin.utf8.count }
        self.head = head
        causeNumber = end + RecordLayout.identityNumber
        if let cause { end += RecordLayout.identityBytes + cause._withUnsafeGuaranteedRef { $0.origin.utf8.count } }
        rootNumber = end + RecordLayout.identityNumber
        source = context.source.toOpaque()
        self.cause = cause?.toOpaque()
        self.root = root?.toOpaque()
        sources = [context.source, cause, root].compactMap { $0?.takeUnretainedValue() }
        self.owed = owed
    }

    deinit { head.deallocate() }

    /// The record of a plain event of the same name; nil if its sources or its receivers are not those of these events,
    /// or if its payload is too long for the format.
    package func record(of context: BorrowedContext, owed: [OwedReceiver], payloadBytes: Int) -> EventRecord? {
        guard context.source.toOpaque() == source, context.cause?.source.toOpaque() == cause,
            context.spelledRoot?.source.toOpaque() == root, owed == self.owed,
            payloadBytes <= Int(RecordLayout.lengthMask) - head.count
        else { return nil }
        return EventRecord(plain: head.count + payloadBytes)
    }

    /// Writes the whole record except the length.
    ///
    /// - Parameters:
    ///   - position: the event's place among all events of the journal, from 1.
    ///   - context: the same as in ``record(of:owed:payloadBytes:)``, like the length of `payload`.
    ///   - target: the bytes of the record.
    ///   - offset: where the record begins in its segment.
    /// - Returns: The value of the length field, which the caller stores last.
    package func write(
        _ payload: UnsafeRawBufferPointer,
        position: UInt64,
        context: BorrowedContext,
        into target: UnsafeMutableRawBufferPointer,
        seed: UInt32,
        at offset: Int
    ) -> UInt32 {
        // The caller has the length from `record(of:owed:payloadBytes:)`. With a wrong length, the copy would hit other
        // memory.
        precondition(target.count == head.count + payload.count, "the record has another length than its event")
        target.copyMemory(from: UnsafeRawBufferPointer(head))
        target.store(position, at: RecordLayout.position)
        target.store(context.nanosecondsSinceEpoch, at: RecordLayout.time)
        target.store(context.number, at: RecordLayout.number)
        if cause != nil, let id = context.cause { target.store(id.number, at: causeNumber) }
        if root != nil, let id = context.knownRoot { target.store(id.number, at: rootNumber) }
        UnsafeMutableRawBufferPointer(rebasing: target[head.count...]).copyMemory(from: payload)
        return RecordLayout.sealed(target, seed: seed, at: offset)
    }
}
