package import DomainEvents

/// The records of nearly all events of one name and one source: events that have no cause, trace or bookmark, are owed
/// to no receiver, and came for the first time.
///
/// These records differ only in a few numbers and the payload, so the rest is made once. The bytes of each record are
/// those that ``EventRecord`` would write.
package final class PlainRecords: @unchecked Sendable {
    // Sendable: nothing changes after `init`; `head` points to memory that this object owns.
    private let source: EventSource
    /// The fixed part, the name and the origin, with zeros for the numbers.
    private let head: UnsafeMutableRawBufferPointer

    package init(name: String, source: EventSource) throws(EventRecord.Mistake) {
        self.source = source
        let context = BorrowedContext(source: .passUnretained(source), number: 0, nanosecondsSinceEpoch: 0)
        let record = try EventRecord(name: name, context: context, payloadBytes: 0)
        head = .allocate(byteCount: record.byteCount, alignment: 8)
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        _ = record.write(none, position: 0, name: name, context: context, into: head, seed: 0, at: 0)
    }

    deinit { head.deallocate() }

    /// Whether these are records of this source.
    package func areOf(_ source: Unmanaged<EventSource>) -> Bool {
        source.toOpaque() == Unmanaged.passUnretained(self.source).toOpaque()
    }

    /// The record of an event with this many bytes of payload; nil if the payload is too long for the format.
    package func record(forPayload byteCount: Int) -> EventRecord? {
        guard byteCount <= Int(RecordLayout.lengthMask) - head.count else { return nil }
        return EventRecord(plain: head.count + byteCount)
    }

    /// Writes the whole record except the length.
    ///
    /// - Parameters:
    ///   - position: the event's place among all events of the journal, from 1.
    ///   - context: the context of an event of this source, without a cause, a root and a full context.
    ///   - target: the bytes of the record, as many as ``record(forPayload:)`` says.
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
        // The caller has the length from `record(forPayload:)`. With a wrong length, the copy would hit other memory.
        precondition(target.count == head.count + payload.count, "the record has another length than its event")
        target.copyMemory(from: UnsafeRawBufferPointer(head))
        target.store(position, at: RecordLayout.position)
        target.store(context.nanosecondsSinceEpoch, at: RecordLayout.time)
        target.store(context.number, at: RecordLayout.number)
        UnsafeMutableRawBufferPointer(rebasing: target[head.count...]).copyMemory(from: payload)
        return RecordLayout.sealed(target, seed: seed, at: offset)
    }
}
