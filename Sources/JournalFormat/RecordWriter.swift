import DomainEvents

/// Writes the parts of a record that follow its checksum, one after the other.
struct RecordWriter {
    private let target: UnsafeMutableRawBufferPointer
    private var offset = RecordLayout.headBytes

    /// Writes the fixed part, a name and the origin of an event.
    ///
    /// - Parameters:
    ///   - position: the event's position; in other kinds of record, the position of the event before them.
    ///   - target: the bytes of the whole record.
    init(
        _ kind: RecordLayout.Kind,
        flags: UInt8 = 0,
        name: String,
        source: Unmanaged<EventSource>,
        number: UInt64,
        attempt: UInt64,
        position: UInt64,
        time: UInt64,
        into target: UnsafeMutableRawBufferPointer
    ) {
        self.target = target
        target.store(UInt32(0), at: RecordLayout.length)
        target.store(kind.rawValue, at: RecordLayout.kind)
        target.store(flags, at: RecordLayout.flags)
        target.store(UInt16(clamping: name.utf8.count), at: RecordLayout.nameBytes)
        target.store(UInt16(clamping: attempt), at: RecordLayout.attempt)
        target.store(position, at: RecordLayout.position)
        target.store(time, at: RecordLayout.time)
        target.store(number, at: RecordLayout.number)
        append(name)
        source._withUnsafeGuaranteedRef { source in
            target.store(UInt16(clamping: source.origin.utf8.count), at: RecordLayout.originBytes)
            target.store(source.incarnation, at: RecordLayout.incarnation)
            append(source.origin)
        }
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: target[offset..<(offset + bytes.count)]).copyMemory(from: bytes)
        offset += bytes.count
    }

    mutating func append(_ text: String) {
        // Nearly every `String` has its bytes in one piece. The copy for the others, below, counts a reference.
        let isWritten: Void? = text.utf8.withContiguousStorageIfAvailable { append(UnsafeRawBufferPointer($0)) }
        guard isWritten == nil else { return }
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    mutating func append(_ bookmark: [UInt8], of worker: String) {
        target.store(UInt16(clamping: worker.utf8.count), at: offset)
        target.store(UInt16(clamping: bookmark.count), at: offset + 2)
        offset += RecordLayout.bookmarkHeadBytes
        append(worker)
        bookmark.withUnsafeBytes { append($0) }
    }

    mutating func append(_ owed: [OwedReceiver]) {
        target.store(UInt16(clamping: owed.count), at: offset)
        offset += RecordLayout.owedHeadBytes
        for receiver in owed {
            target.store(UInt8(receiver.isSpecified ? 1 : 0), at: offset)
            target.store(UInt16(clamping: receiver.name.utf8.count), at: offset + 1)
            offset += RecordLayout.receiverHeadBytes
            append(receiver.name)
        }
    }

    /// Writes a text's length, and then the text.
    mutating func append(counted text: String) {
        target.store(UInt16(clamping: text.utf8.count), at: offset)
        offset += RecordLayout.textHeadBytes
        append(text)
    }

    mutating func append(_ range: ClosedRange<UInt64>) {
        target.store(range.lowerBound, at: offset)
        target.store(range.upperBound, at: offset + 8)
        offset += RecordLayout.rangeBytes
    }

    mutating func append(_ id: BorrowedID) {
        target.store(id.number, at: offset + RecordLayout.identityNumber)
        id.source._withUnsafeGuaranteedRef { source in
            target.store(source.incarnation, at: offset)
            target.store(UInt16(clamping: source.origin.utf8.count), at: offset + 16)
            offset += RecordLayout.identityBytes
            append(source.origin)
        }
    }
}
