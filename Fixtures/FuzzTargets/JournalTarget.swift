import DomainEvents
import JournalFormat

/// Segments of a journal: heads, records, and arbitrary bytes in their places.
///
/// Any bytes are read or reported as damage, with the same result in windows of any length. A record that was read is
/// the same after it was written and read again.
package final class JournalTarget: FuzzTarget {
    private let head = SegmentHead(
        journal: 7,
        number: 3,
        segmentBytes: SegmentHead.smallestSegment,
        firstPosition: 41,
        begunAt: 1,
        previousEnd: 5_000
    )

    package init() {}

    package func run(_ input: UnsafeRawBufferPointer) throws {
        try checkHead(input)
        try checkRecords(Array(input))
        try checkRecords(repaired(input))
    }

    // MARK: - Heads

    /// Checks the input as the beginning of a head: as it is, and with the right mark and checksum.
    private func checkHead(_ input: UnsafeRawBufferPointer) throws {
        var bytes = Array(input.prefix(SegmentHead.byteCount))
        bytes += [UInt8](repeating: 0, count: SegmentHead.byteCount - bytes.count)
        _ = bytes.withUnsafeBytes(SegmentHead.read)
        withUnsafeBytes(of: SegmentHead.encodedMark) { bytes.replaceSubrange(..<8, with: $0) }
        // The heads of versions 1 and 2 are shorter.
        let version = bytes[8..<12].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let covered = version < 3 ? 68 : 76
        let checksum = bytes[..<covered].withUnsafeBytes { Checksum.crc32c($0) }
        withUnsafeBytes(of: checksum.littleEndian) { bytes.replaceSubrange(covered..<(covered + 4), with: $0) }
        guard case .head(let head) = bytes.withUnsafeBytes(SegmentHead.read) else { return }
        // A head is written in the version of this code.
        var again = head.encodedWithoutMark
        withUnsafeBytes(of: SegmentHead.encodedMark) { again.replaceSubrange(..<8, with: $0) }
        again += [UInt8](repeating: 0, count: SegmentHead.byteCount - again.count)
        try require(again.withUnsafeBytes(SegmentHead.read) == .head(head), "another head: \(head)")
    }

    // MARK: - Records

    /// The input with the right checksum wherever a record may begin.
    private func repaired(_ input: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes = Array(input)
        // The loop begins at the end, because the checksum of a record covers the records within it.
        for offset in stride(from: 0, to: bytes.count, by: 8).reversed() {
            let length = bytes[offset...].prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let byteCount = Int(length & 0x0FFF_FFFF)
            guard length >> 28 == 0xA, byteCount >= 48, byteCount <= bytes.count - offset else { continue }
            var checksum = head.seed
            for number in [UInt64(SegmentHead.byteCount + offset), UInt64(byteCount)] {
                checksum = withUnsafeBytes(of: number.littleEndian) { Checksum.crc32c($0, after: checksum) }
            }
            checksum = bytes[(offset + 8)..<(offset + byteCount)].withUnsafeBytes {
                Checksum.crc32c($0, after: checksum)
            }
            withUnsafeBytes(of: checksum.littleEndian) { bytes.replaceSubrange((offset + 4)..<(offset + 8), with: $0) }
        }
        return bytes
    }

    private func checkRecords(_ bytes: [UInt8]) throws {
        let whole = try walk(bytes, window: .max)
        let inPieces = try walk(bytes, window: Int(bytes.first ?? 0) + 1)
        try require(whole == inPieces, "otherwise in pieces: \(whole) \(inPieces)")
    }

    /// The results of a walk over a segment's records, as texts that can be compared.
    private func walk(_ bytes: [UInt8], window: Int) throws -> [String] {
        let memory = try GuardedBytes(bytes)
        let records = UnsafeRawBufferPointer(memory.bytes)
        let limit = SegmentHead.byteCount + bytes.count
        var walk = SegmentWalk(of: head)
        var said: [String] = []
        var length = window
        var position = walk.position
        while true {
            let start = min(walk.offset - SegmentHead.byteCount, bytes.count)
            let stop = start + min(length, bytes.count - start)
            let before = walk.offset
            switch walk.next(in: UnsafeRawBufferPointer(rebasing: records[start..<stop]), limit: limit) {
            case .needsBytes(let count):
                try require(count > stop - start || walk.offset > before, "needs the bytes that it has")
                try require(count <= limit - walk.offset, "needs \(count) bytes, there are fewer")
                length = max(count, window)
                continue
            case .record(let record):
                try require(record.position >= position, "position \(record.position) behind \(position)")
                position = record.position
                said.append("\(record.position) \(record.name) \(record.origin) \(record.byteCount)")
                try checkWriting(record)
            case .bookmarks(let record):
                // The hash stands for the table, because texts of equal tables may list workers in different orders.
                said.append("\(record.position) \(record.bookmarks.map { "\($0.hashValue)" } ?? "-")")
                try checkTable(record)
            case .note(let record):
                said.append("\(record.position) \(record.note.map { "\($0)" } ?? "-")")
                try checkNote(record)
            case .damage(let damage):
                try require(damage.offset + damage.byteCount <= limit, "damage beyond the end: \(damage)")
                said.append("\(damage)")
            case .end(let end):
                said.append("\(end) at \(walk.offset)")
                return said
            }
            length = window
        }
    }

    /// Checks that the record is the same after it was written and read again.
    private func checkWriting(_ record: RecordView) throws {
        guard let (context, owed, payload) = record.owedEvent() else { return }
        let written: [UInt8]? = context.withBorrowed { context in
            let again = try? EventRecord(
                name: record.name,
                context: context,
                owed: owed,
                payloadBytes: payload.count
            )
            guard let again else { return nil }
            var bytes = [UInt8](repeating: 0, count: again.stride)
            bytes.withUnsafeMutableBytes { bytes in
                let target = UnsafeMutableRawBufferPointer(rebasing: bytes[..<again.byteCount])
                let length = again.write(
                    payload,
                    position: head.firstPosition,
                    name: record.name,
                    context: context,
                    owed: owed,
                    into: target,
                    seed: head.seed,
                    at: SegmentHead.byteCount
                )
                target.storeBytes(of: length, as: UInt32.self)
            }
            return bytes
        }
        guard let bytes = written else { return }
        var walk = SegmentWalk(of: head)
        try bytes.withUnsafeBytes { bytes in
            guard case .record(let copy) = walk.next(in: bytes, limit: SegmentHead.byteCount + bytes.count),
                let (other, receivers, content) = copy.owedEvent()
            else { throw BrokenInvariant(description: "not read again: \(record.name) \(context)") }
            try require(copy.name == record.name, "another name")
            try require(words(other) == words(context), "another context: \(other) \(context)")
            try require(receivers == owed, "owed to others: \(receivers) \(owed)")
            try require(content.elementsEqual(payload), "another payload")
        }
    }

    /// Checks that a table of bookmarks is the same after it was written and read again.
    private func checkTable(_ record: RecordView) throws {
        guard let table = record.bookmarks, !table.isEmpty else { return }
        var bytes = [UInt8](repeating: 0, count: table.stride)
        let offset = SegmentHead.byteCount
        bytes.withUnsafeMutableBytes { bytes in
            let target = UnsafeMutableRawBufferPointer(rebasing: bytes[..<table.recordBytes])
            let length = table.write(position: head.firstPosition - 1, into: target, seed: head.seed, at: offset)
            target.storeBytes(of: length, as: UInt32.self)
        }
        var walk = SegmentWalk(of: head)
        try bytes.withUnsafeBytes { bytes in
            guard case .bookmarks(let copy) = walk.next(in: bytes, limit: offset + bytes.count) else {
                throw BrokenInvariant(description: "not read again: \(table)")
            }
            try require(copy.bookmarks == table, "another table")
        }
    }

    /// Checks that a note is the same after it was written and read again, unless a part of it is too long to be
    /// written as a whole.
    private func checkNote(_ record: RecordView) throws {
        guard let note = record.note else { return }
        let again = NoteRecord(note)
        var bytes = [UInt8](repeating: 0, count: again.stride)
        let offset = SegmentHead.byteCount
        bytes.withUnsafeMutableBytes { bytes in
            let target = UnsafeMutableRawBufferPointer(rebasing: bytes[..<again.byteCount])
            let length = again.write(position: head.firstPosition - 1, into: target, seed: head.seed, at: offset)
            target.storeBytes(of: length, as: UInt32.self)
        }
        var walk = SegmentWalk(of: head)
        try bytes.withUnsafeBytes { bytes in
            guard case .note(let copy) = walk.next(in: bytes, limit: offset + bytes.count) else {
                throw BrokenInvariant(description: "not read again: \(note)")
            }
            let isWhole = again.byteCount == record.byteCount
            try require(isWhole ? copy.note == note : copy.note != nil, "another note: \(note)")
        }
    }

    private func words(_ context: EventContext) -> String {
        "\(context.id) \(context.nanosecondsSinceEpoch) \(context.attempt) \(context.root) "
            + "\(context.cause?.description ?? "-") \(context.traceparent?.description ?? "-") "
            + "\(context.bookmark?.description ?? "-")"
    }
}
