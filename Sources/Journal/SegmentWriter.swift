import BridgePlatform
import JournalFormat
import Synchronization

/// The segment that a journal writes to; the caller of a method holds the journal's lock.
///
/// If the file system writes in place, a record is stored into the mapped file: this needs no system call, and the
/// record outlives the process once its length is stored. On other file systems, system calls write the records, as a
/// store into a mapped page could find no room and kill the process.
final class SegmentWriter {
    let file: any JournalFile
    private let segmentBytes: Int
    private let mapping: MemoryMapping?
    private(set) var head: SegmentHead?
    /// The offset of the next record.
    private(set) var offset = SegmentHead.byteCount
    private var seed: UInt32 = 0
    /// The end of the bytes that a failed write may have left.
    private var spoiled = 0
    /// Holds a record until a system call writes it.
    private var scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 8)

    /// - Parameter file: a file of `segmentBytes` zeros.
    init(_ file: any JournalFile, segmentBytes: Int, isMapped: Bool) throws(SystemError) {
        self.file = file
        self.segmentBytes = segmentBytes
        mapping = isMapped ? try file.map(segmentBytes) : nil
    }

    deinit { scratch.deallocate() }

    /// Writes the head, which makes the file a segment, and then the bookmarks.
    ///
    /// A kill between the two leaves a head that says that bookmarks are missing: then those of the segment before
    /// count, which is still there.
    func begin(_ head: SegmentHead, _ bookmarks: BookmarkTable) throws(SystemError) {
        try store(head.encodedWithoutMark)
        self.head = head
        seed = head.seed
        guard !bookmarks.isEmpty else { return }
        try place(byteCount: bookmarks.recordBytes, stride: bookmarks.stride) { target in
            bookmarks.write(position: head.firstPosition - 1, into: target, seed: seed, at: offset)
        }
    }

    /// Whether a record of this length fits, with room left for the end record.
    func hasRoom(forStride stride: Int) -> Bool { stride <= segmentBytes - offset - EndRecord.byteCount }

    /// The longest stride of a record in a segment of this size.
    static func longestStride(inSegmentOf byteCount: Int) -> Int {
        byteCount - SegmentHead.byteCount - EndRecord.byteCount
    }

    /// Writes a record; the caller has checked that there is room.
    func append(_ record: EventRecord, _ payload: UnsafeRawBufferPointer) throws(SystemError) {
        try place(byteCount: record.byteCount, stride: record.stride) { target in
            record.write(payload, into: target, seed: seed, at: offset)
        }
    }

    /// Writes a note; the caller has checked that there is room.
    func append(_ note: NoteRecord, position: UInt64) throws(SystemError) {
        try place(byteCount: note.byteCount, stride: note.stride) { target in
            note.write(position: position, into: target, seed: seed, at: offset)
        }
    }

    /// Writes the end record, for which there is always room, and cuts off the rest of the file.
    func end(position: UInt64, time: UInt64) throws(SystemError) {
        try place(byteCount: EndRecord.byteCount, stride: EndRecord.byteCount) { target in
            EndRecord.write(position: position, time: time, into: target, seed: seed, at: offset)
        }
        try file.truncate(to: offset)
    }

    /// Writes a record's bytes; its length comes last.
    private func place(
        byteCount: Int,
        stride: Int,
        _ write: (UnsafeMutableRawBufferPointer) -> UInt32
    ) throws(SystemError) {
        if let mapping {
            let target = UnsafeMutableRawBufferPointer(rebasing: mapping.bytes[offset..<(offset + byteCount)])
            let length = write(target)
            // The mapping begins on a page and a record at a multiple of 8, so the word is aligned. Other threads and
            // processes only read it, and only with system calls.
            target.baseAddress?.assumingMemoryBound(to: Atomic<UInt32>.self).pointee.store(length, ordering: .releasing)
        } else {
            // Zeros overwrite what a failed write of a longer record may have left.
            let whole = room(max(byteCount, spoiled - offset))
            let target = UnsafeMutableRawBufferPointer(rebasing: whole[..<byteCount])
            let length = write(target)
            target.storeBytes(of: length, as: UInt32.self)
            for index in byteCount..<whole.count { whole[index] = 0 }
            spoiled = max(spoiled, offset + byteCount)
            try file.write(UnsafeRawBufferPointer(whole), at: offset)
            spoiled = 0
        }
        offset += stride
    }

    /// Writes a head; the mark, which says that the head is complete, comes last.
    private func store(_ head: [UInt8]) throws(SystemError) {
        let mark = SegmentHead.encodedMark
        if let mapping {
            let target = UnsafeMutableRawBufferPointer(rebasing: mapping.bytes[..<head.count])
            target.copyBytes(from: head)
            // The mapping begins on a page, so the word is aligned; it is read only with system calls.
            target.baseAddress?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(mark, ordering: .releasing)
        } else {
            let target = room(head.count)
            target.copyBytes(from: head)
            try file.write(UnsafeRawBufferPointer(target), at: 0)
            // The mark comes last: a head that found room only in part makes no segment.
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
