import BridgePlatform
import DomainEvents
import JournalFormat
import Synchronization

/// The segment that a journal writes to.
///
/// A caller that writes holds the journal's lock, or no other thread can write. So Swift's check of exclusive access is
/// off (`unchecked`) for what each event needs. If the file system writes in place, a record is stored into the mapped
/// file: this needs no system call, and the record outlives the process once its length is stored. On other file
/// systems, system calls write the records: a store into a mapped page could find no room and kill the process.
final class SegmentWriter {
    let file: any JournalFile
    private let segmentBytes: Int
    /// Where the last record before the end record ends at the latest.
    private let recordsEnd: Int
    private let mapping: MemoryMapping?
    /// Where `mapping` begins, so that no record counts a reference to `mapping`; nil if there is none.
    private let mapped: UnsafeMutableRawPointer?
    private(set) var head: SegmentHead?
    /// Whether the next segment may already have a head, which states where this one ends; then no record may follow.
    @exclusivity(unchecked) private var isFollowed = false
    /// The offset of the next record.
    @exclusivity(unchecked) private(set) var offset = SegmentHead.byteCount
    @exclusivity(unchecked) private var seed: UInt32 = 0
    /// The end of the bytes that a failed write may have left.
    private var spoiled = 0
    /// Holds a record until a system call writes it.
    private var scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 8)

    /// - Parameter file: a file of `segmentBytes` zeros.
    init(_ file: any JournalFile, segmentBytes: Int, isMapped: Bool) throws(SystemError) {
        self.file = file
        self.segmentBytes = segmentBytes
        recordsEnd = segmentBytes - EndRecord.byteCount
        mapping = isMapped ? try file.map(segmentBytes) : nil
        mapped = mapping?.bytes.baseAddress
    }

    deinit { scratch.deallocate() }

    /// Writes the head, which makes the file a segment, and then the bookmarks.
    ///
    /// After a kill between the two, the head announces bookmarks that are missing. The next opening then reads the
    /// segment before, which is still there, for its bookmarks.
    ///
    /// - Parameter previous: the segment before; nil if this program does not write to it.
    func begin(
        _ head: SegmentHead,
        _ bookmarks: BookmarkTable,
        after previous: SegmentWriter? = nil
    ) throws(SystemError) {
        try store(head.encodedWithoutMark)
        self.head = head
        previous?.isFollowed = true
        seed = head.seed
        guard !bookmarks.isEmpty else { return }
        try place(byteCount: bookmarks.recordBytes, stride: bookmarks.stride) { target, seed, offset in
            bookmarks.write(position: head.firstPosition - 1, into: target, seed: seed, at: offset)
        }
    }

    /// Has the operating system prepare the pages of the mapping, if it can, so that a thread seldom waits for a page.
    func populate() { mapping?.populate() }

    /// Whether a record of this stride may be written here; room is left for the end record.
    func hasRoom(forStride stride: Int) -> Bool {
        !isFollowed && stride <= recordsEnd - offset
    }

    /// The longest stride of a record in a segment of this size.
    static func longestStride(inSegmentOf byteCount: Int) -> Int {
        byteCount - SegmentHead.byteCount - EndRecord.byteCount
    }

    /// Writes a record; the caller has checked that there is room.
    func append(
        _ record: EventRecord,
        _ payload: UnsafeRawBufferPointer,
        position: UInt64,
        name: String,
        context: BorrowedContext,
        owed: [OwedReceiver]
    ) throws(SystemError) {
        try place(byteCount: record.byteCount, stride: record.stride) { target, seed, offset in
            record.write(
                payload,
                position: position,
                name: name,
                context: context,
                owed: owed,
                into: target,
                seed: seed,
                at: offset
            )
        }
    }

    /// Writes the record of a plain event; the caller has checked that there is room.
    ///
    /// - Returns: The error, nil if there is none; not thrown, so that the caller counts no reference to this object.
    @inline(__always)
    func append(
        _ record: EventRecord,
        of records: Unmanaged<PlainRecords>,
        _ payload: UnsafeRawBufferPointer,
        position: UInt64,
        context: BorrowedContext
    ) -> SystemError? {
        do throws(SystemError) {
            try place(byteCount: record.byteCount, stride: record.stride) { target, seed, offset in
                records._withUnsafeGuaranteedRef {
                    $0.write(payload, position: position, context: context, into: target, seed: seed, at: offset)
                }
            }
            return nil
        } catch {
            return error
        }
    }

    /// Writes a note; the caller has checked that there is room.
    func append(_ note: borrowing NoteRecord, position: UInt64) throws(SystemError) {
        try place(byteCount: note.byteCount, stride: note.stride) { target, seed, offset in
            note.write(position: position, into: target, seed: seed, at: offset)
        }
    }

    /// Writes the end record, for which the segment always has room, and cuts off the rest of the file.
    func end(position: UInt64, time: UInt64) throws(SystemError) {
        try place(byteCount: EndRecord.byteCount, stride: EndRecord.byteCount) { target, seed, offset in
            EndRecord.write(position: position, time: time, into: target, seed: seed, at: offset)
        }
        try file.truncate(to: offset)
    }

    /// Writes a record's bytes; in a mapped file, the record's length comes last.
    ///
    /// - Parameter write: gets the target, the segment's seed and the record's offset; a closure that took them from
    ///   this object would count a reference to it.
    @inline(__always)
    private func place(
        byteCount: Int,
        stride: Int,
        _ write: (UnsafeMutableRawBufferPointer, _ seed: UInt32, _ offset: Int) -> UInt32
    ) throws(SystemError) {
        if let mapped {
            // Callers have checked this. If a check is wrong, the record must not overwrite other memory.
            precondition(offset + byteCount <= segmentBytes, "a record lies beyond its segment")
            let target = UnsafeMutableRawBufferPointer(start: mapped + offset, count: byteCount)
            let length = write(target, seed, offset)
            // The mapping begins on a page and a record at a multiple of 8, so the word is aligned. Other threads and
            // processes only read the word, and only with system calls.
            (mapped + offset).assumingMemoryBound(to: Atomic<UInt32>.self).pointee.store(length, ordering: .releasing)
        } else {
            try placeBySystemCall(byteCount: byteCount, write)
        }
        offset += stride
    }

    @inline(never)
    private func placeBySystemCall(
        byteCount: Int,
        _ write: (UnsafeMutableRawBufferPointer, _ seed: UInt32, _ offset: Int) -> UInt32
    ) throws(SystemError) {
        let end = offset + byteCount
        if spoiled > end {
            // Zeros overwrite what a failed write of a longer record may have left. They have a write of their own: if
            // one write had the record and the zeros, and found room for the record alone, the refused record would be
            // whole.
            let zeros = room(spoiled - end)
            zeros.initializeMemory(as: UInt8.self, repeating: 0)
            try file.write(UnsafeRawBufferPointer(zeros), at: end)
        }
        spoiled = end
        let target = room(byteCount)
        let length = write(target, seed, offset)
        target.storeBytes(of: length, as: UInt32.self)
        try file.write(UnsafeRawBufferPointer(target), at: offset)
        spoiled = 0
    }

    /// Writes a head; the mark, which says that the head is complete, comes last.
    private func store(_ head: [UInt8]) throws(SystemError) {
        let mark = SegmentHead.encodedMark
        if let mapping {
            let target = UnsafeMutableRawBufferPointer(rebasing: mapping.bytes[..<head.count])
            target.copyBytes(from: head)
            // The mapping begins on a page, so the word is aligned; readers use only system calls.
            target.baseAddress?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(mark, ordering: .releasing)
        } else {
            let target = room(head.count)
            target.copyBytes(from: head)
            try file.write(UnsafeRawBufferPointer(target), at: 0)
            // The mark is written last: without it, the part of a head that found room does not count as a segment.
            target.storeBytes(of: mark, as: UInt64.self)
            try file.write(UnsafeRawBufferPointer(rebasing: target[..<MemoryLayout.size(ofValue: mark)]), at: 0)
        }
    }

    private func room(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        if scratch.count < byteCount {
            scratch.deallocate()
            scratch = .allocate(byteCount: byteCount, alignment: 8)
        }
        return UnsafeMutableRawBufferPointer(rebasing: scratch[..<byteCount])
    }
}
