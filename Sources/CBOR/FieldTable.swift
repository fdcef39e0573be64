/// The fields of a ``LaidOutCoder``, prepared for writing and reading.
final class FieldTable: @unchecked Sendable {
    // @unchecked: nothing changes between `init` and `deinit`.

    struct Entry {
        let name: String
        let offset: Int
        let argument: Int
        let codec: FieldCodec
    }

    struct Field {
        /// The first property, so that the address of a field is also the address of its key.
        let key: FieldKey
        let codec: FieldCodec
        let offset: Int
        let argument: Int
    }

    let fields: UnsafeMutablePointer<Field>
    let count: Int
    private let keys: UnsafeMutableRawPointer
    /// How many levels the fields add to the depth of the event; fields that check the depth themselves do not count.
    private let levels: Int
    private let needsSession: Bool
    /// How many bytes a map with short texts takes at most; nil unless there are few fields with short keys, all of
    /// them integers and texts.
    private let shortMapBytes: Int?

    init(_ entries: [Entry]) {
        count = entries.count
        levels = entries.map(\.codec.levels).max() ?? 0
        needsSession = entries.contains { $0.codec.needsSession }
        let buffer = CBORBuffer()
        let ends = entries.map { entry in
            CBORWriter(buffer).text(entry.name)
            return buffer.count
        }
        keys = .allocate(byteCount: max(buffer.count, 1), alignment: 16)
        UnsafeMutableRawBufferPointer(start: keys, count: buffer.count).copyMemory(from: buffer.bytes)
        fields = .allocate(capacity: max(count, 1))
        for (index, entry) in entries.enumerated() {
            let start = index == 0 ? 0 : ends[index - 1]
            let key = FieldKey(bytes: keys + start, size: ends[index] - start, name: entry.name)
            (fields + index).initialize(
                to: Field(key: key, codec: entry.codec, offset: entry.offset, argument: entry.argument)
            )
        }
        let keySizes = (0..<count).map { [fields] in fields[$0].key.size }
        let isShort = count < 24 && keySizes.allSatisfy { $0 < 32 } && entries.allSatisfy { $0.codec.kind != .other }
        shortMapBytes = isShort ? 1 + keySizes.reduce(0) { $0 + $1 + Self.shortValueBytes } : nil
    }

    /// How many bytes an integer, or a text of fewer than 24 bytes, takes at most.
    private static let shortValueBytes = 24

    deinit {
        fields.deinitialize(count: count)
        fields.deallocate()
        keys.deallocate()
    }

    @inline(__always)
    static func key(of field: UnsafePointer<Field>) -> UnsafePointer<FieldKey> {
        UnsafeRawPointer(field).assumingMemoryBound(to: FieldKey.self)
    }

    // MARK: Writing

    /// Appends a map of the fields of the value at an address.
    ///
    /// Returns whether the map was written; if not, the buffer holds what it held before.
    func write(_ value: UnsafeRawPointer, into buffer: CBORBuffer, with session: EncodingSession) -> Bool {
        guard levels < session.limits.maximumDepth else { return false }
        if let shortMapBytes {
            writeShortMap(value, to: buffer.storage, atMost: shortMapBytes)
            return true
        }
        if needsSession { return writeInSession(value, into: buffer, with: session) }
        let start = buffer.count
        do {
            try writeMap(value, FieldWriting(output: buffer.storage, session: .passUnretained(session)))
            return true
        } catch {
            buffer.truncate(to: start)
            return false
        }
    }

    private func writeInSession(
        _ value: UnsafeRawPointer,
        into buffer: CBORBuffer,
        with session: EncodingSession
    ) -> Bool {
        guard !session.isBusy else { return false }
        let start = buffer.count
        session.begin(writingInto: buffer)
        defer { session.end() }
        do {
            try session.openRootMap()
            try writeMap(value, FieldWriting(output: buffer.storage, session: .passUnretained(session)))
            if !session.isUnusual { return true }
        } catch {
            // The caller then encodes through `Codable`, which meets the error again and says where.
        }
        buffer.truncate(to: min(start, buffer.count))
        return false
    }

    /// Writes a map of few integers and texts: takes room for it once, and counts its bytes once.
    @inline(__always)
    private func writeShortMap(
        _ value: UnsafeRawPointer,
        to output: UnsafeMutablePointer<CBORBuffer.Storage>,
        atMost size: Int
    ) {
        var end = output.pointee.reserve(size)
        end.storeBytes(of: CBORMajorType.map.rawValue << 5 | UInt8(truncatingIfNeeded: count), as: UInt8.self)
        end += 1
        for index in 0..<count {
            let field = fields + index
            let property = value + field.pointee.offset
            CBORBuffer.Storage.copyShort(field.pointee.key.bytes, field.pointee.key.size, to: end)
            end += field.pointee.key.size
            if field.pointee.codec.kind == .integer64 {
                end += CBORBuffer.Storage.storeInteger(property.load(as: Int64.self), at: end)
                continue
            }
            let text = property.assumingMemoryBound(to: String.self)
            if let written = CBORBuffer.Storage.storeShort(text, at: end) {
                end += written
            } else {
                output.pointee.count = end - output.pointee.bytes
                output.pointee.text(at: text)
                end = output.pointee.reserve(size)
            }
        }
        output.pointee.count = end - output.pointee.bytes
    }

    @inline(__always)
    private func writeMap(_ value: UnsafeRawPointer, _ writing: FieldWriting) throws {
        let head = writing.output.pointee.count
        writing.output.pointee.append(CBORMajorType.map.rawValue << 5)
        var written = 0
        for index in 0..<count {
            let field = fields + index
            let property = value + field.pointee.offset
            switch field.pointee.codec.kind {
            case .integer64:
                writing.begin(FieldTable.key(of: field))
                writing.output.pointee.integer(property.load(as: Int64.self))
                written &+= 1
            case .text:
                writing.begin(FieldTable.key(of: field))
                writing.output.pointee.text(at: property.assumingMemoryBound(to: String.self))
                written &+= 1
            case .other:
                if try field.pointee.codec.write(property, FieldTable.key(of: field), writing) { written &+= 1 }
            }
        }
        writing.output.pointee.patchHead(.map, written, at: head)
    }
}
