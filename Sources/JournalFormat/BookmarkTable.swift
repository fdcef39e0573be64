/// The last bookmark of each worker, with the position of the event that had it.
///
/// Each segment begins with the table of the bookmarks before the segment, if there are any. So bookmarks outlive the
/// removal of old segments, and the opening of a journal need not read all segments for them.
package struct BookmarkTable: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        package let position: UInt64
        package let bookmark: [UInt8]
    }

    private var entries: [String: Entry] = [:]
    /// The bytes of all entries in a record.
    private var entryBytes = 0
    /// The bytes of all workers' names.
    private var nameBytes = 0

    /// How many bytes a bookmark has at most.
    package static let longestBookmark = 256
    /// How many bytes of an entry come before its texts: the position, and the lengths of the two texts.
    private static let fixedBytes = 12

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    package subscript(worker: String) -> Entry? { entries[worker] }

    /// Notes the bookmark of a worker's event; a later event's bookmark replaces it.
    package mutating func note(_ bookmark: [UInt8], of worker: String, at position: UInt64) {
        if let former = entries[worker] {
            guard position >= former.position else { return }
            entryBytes -= Self.bytes(worker, former.bookmark.count)
        } else {
            nameBytes += worker.utf8.count
        }
        entries[worker] = Entry(position: position, bookmark: bookmark)
        entryBytes += Self.bytes(worker, bookmark.count)
    }

    private static func bytes(_ worker: String, _ bookmark: Int) -> Int { fixedBytes + worker.utf8.count + bookmark }

    // MARK: - The record

    /// The length of the table's record, in bytes; 0 if the table is empty, because it then has no record.
    package var recordBytes: Int { isEmpty ? 0 : RecordLayout.headBytes + entryBytes }

    /// The distance from the beginning of the table's record to the next record, in bytes.
    package var stride: Int { RecordLayout.next(after: recordBytes) }

    /// The stride of a table with these workers and one more, if each bookmark has the greatest length.
    package func longestStride(with worker: String? = nil) -> Int {
        var bytes = nameBytes + entries.count * (Self.fixedBytes + Self.longestBookmark)
        if let worker, entries[worker] == nil { bytes += Self.bytes(worker, Self.longestBookmark) }
        return bytes == 0 ? 0 : RecordLayout.next(after: RecordLayout.headBytes + bytes)
    }

    /// Writes the whole record except the length; returns the value of the length field, which the caller stores last.
    ///
    /// - Parameters:
    ///   - position: the position of the event before this record.
    ///   - target: the record's ``recordBytes`` bytes.
    package func write(
        position: UInt64,
        into target: UnsafeMutableRawBufferPointer,
        seed: UInt32,
        at offset: Int
    ) -> UInt32 {
        for index in 0..<RecordLayout.headBytes { target[index] = 0 }
        target.store(RecordLayout.Kind.bookmarks.rawValue, at: RecordLayout.kind)
        target.store(position, at: RecordLayout.position)
        var next = RecordLayout.headBytes
        // The entries are sorted, so that the same bookmarks always make the same bytes.
        for (worker, entry) in entries.sorted(by: { $0.key < $1.key }) {
            target.store(entry.position, at: next)
            target.store(UInt16(clamping: worker.utf8.count), at: next + 8)
            target.store(UInt16(clamping: entry.bookmark.count), at: next + 10)
            next += Self.fixedBytes
            for bytes in [Array(worker.utf8), entry.bookmark] {
                UnsafeMutableRawBufferPointer(rebasing: target[next..<(next + bytes.count)]).copyBytes(from: bytes)
                next += bytes.count
            }
        }
        return RecordLayout.sealed(target, seed: seed, at: offset)
    }

    /// Reads the entries of a record, and trusts none of the bytes.
    ///
    /// - Returns: Nil if the parts do not fit into the record; no writer of this version leaves such a record.
    init?(entries bytes: UnsafeRawBufferPointer) {
        var next = 0
        while next < bytes.count {
            guard bytes.count - next >= Self.fixedBytes else { return nil }
            let worker = Int(bytes.number(at: next + 8, as: UInt16.self))
            let bookmark = Int(bytes.number(at: next + 10, as: UInt16.self))
            let begin = next + Self.fixedBytes
            guard bookmark <= Self.longestBookmark, bytes.count - begin >= worker + bookmark else { return nil }
            note(
                Array(bytes[(begin + worker)..<(begin + worker + bookmark)]),
                of: String(decoding: bytes[begin..<(begin + worker)], as: UTF8.self),
                at: bytes.number(at: next)
            )
            next = begin + worker + bookmark
        }
    }
}
