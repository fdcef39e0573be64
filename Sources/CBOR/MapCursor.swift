/// How far the reading of one map has come: keys asked for in the order of writing are found at once.
struct MapCursor {
    /// The offset of the map's head; -1 while the cursor is free.
    var map = -1
    /// The offset of the key that comes next.
    var position = 0
    /// How many entries lie before it.
    var entry = 0
    /// How many entries there are, -1 for a map of indefinite length.
    var count = 0
    /// Made when a large map is read out of order.
    var table: KeyTable?
}

/// A map in the bytes: where its head and its first key stand, and how many pairs it declares.
struct MapPlace {
    let session: DecodingSession
    let head: Int
    let first: Int
    /// -1 for indefinite length.
    let count: Int
    let level: Int

    /// Up to here a search compares key by key.
    private static let linearLimit = 16

    init(session: DecodingSession, at offset: Int, level: Int) throws(CBORError) {
        let offset = try session.skippingSelfDescription(at: offset)
        var reader = session.reader(at: offset)
        self.session = session
        self.level = level
        count = try reader.readMapHead() ?? -1
        head = offset
        first = reader.position
        reset(session.cursor(at: level))
    }

    private func reset(_ cursor: UnsafeMutablePointer<MapCursor>) {
        cursor.pointee.map = head
        cursor.pointee.position = first
        cursor.pointee.entry = 0
        cursor.pointee.count = count
        if cursor.pointee.table != nil { cursor.pointee.table = nil }
    }

    @inline(__always)
    private func ownCursor() -> UnsafeMutablePointer<MapCursor> {
        let cursor = session.cursor(at: level)
        if cursor.pointee.map != head { reset(cursor) }
        return cursor
    }

    /// The offset of the value of a key, nil where the map has no such key; the cursor then stands at it.
    @inline(__always)
    func find(_ key: String) throws(CBORError) -> Int? {
        let cursor = ownCursor()
        if hasEntry(cursor.pointee.position, cursor.pointee.entry),
            let value = try value(ofKeyAt: cursor.pointee.position, ifEqualTo: key)
        {
            return value
        }
        return try search(key, cursor)
    }

    /// Notes that the entry at the cursor has been read and where its value ends.
    @inline(__always)
    func advance(to end: Int) {
        let cursor = session.cursor(at: level)
        guard cursor.pointee.map == head else { return }
        cursor.pointee.position = end
        cursor.pointee.entry &+= 1
    }

    func value(_ key: String) throws(CBORError) -> Int {
        guard let offset = try find(key) else { throw CBORError(.missingKey(key), offset: head) }
        return offset
    }

    /// The value of a key, nil where it is missing or null.
    func present(_ key: String) throws(CBORError) -> Int? {
        guard let offset = try find(key), !session.isNull(at: offset) else { return nil }
        return offset
    }

    // Not generic over the key type of the container that asks, so that they are compiled once and for good.

    func bool(at offset: Int) throws(CBORError) -> Bool {
        let read = try session.bool(at: offset)
        advance(to: read.end)
        return read.value
    }

    func string(at offset: Int) throws(CBORError) -> String {
        let read = try session.string(at: offset)
        advance(to: read.end)
        return read.value
    }

    func double(at offset: Int) throws(CBORError) -> Double {
        let read = try session.double(at: offset)
        advance(to: read.end)
        return read.value
    }

    func float(at offset: Int) throws(CBORError) -> Float {
        let read = try session.float(at: offset)
        advance(to: read.end)
        return read.value
    }

    @inline(__always)
    func integer<T: FixedWidthInteger>(at offset: Int) throws(CBORError) -> T {
        let read = try integerHead(at: offset)
        if let value = read.head.integer(T.self) { return value }
        throw session.integerRefusal(T.self, at: offset)
    }

    private func integerHead(at offset: Int) throws(CBORError) -> (head: CBORHead, end: Int) {
        let read = try session.head(at: offset)
        if read.head.majorType == .unsigned || read.head.majorType == .negative { advance(to: read.end) }
        return read
    }

    /// Calls `body` with the offset of each key.
    func forEachKey(_ body: (Int) -> Void) throws(CBORError) {
        var reader = session.reader(at: first)
        var entry = 0
        while hasEntry(reader.position, entry) {
            body(reader.position)
            try skip(&reader)
            try skip(&reader)
            entry &+= 1
        }
    }

    @inline(__always)
    private func hasEntry(_ position: Int, _ entry: Int) -> Bool {
        if count >= 0 { return entry < count }
        return position < session.bytes.count && session.bytes[position] != CBORHead.breakByte
    }

    private func skip(_ reader: inout CBORReader) throws(CBORError) {
        try reader.skipCheckedItem(levelsLeft: session.limits.maximumDepth)
    }

    /// The offset after a key, if it is this text.
    @inline(__always)
    private func value(ofKeyAt offset: Int, ifEqualTo key: String) throws(CBORError) -> Int? {
        let bytes = session.bytes
        let count = key.utf8.count
        if count < 24 {
            // The head of a short key is one byte, so kind and length compare at once. A longer spelling of the same
            // length or a chunked key has another first byte and takes the long way.
            guard offset < bytes.count else { return nil }
            let initialByte = bytes[offset]
            if initialByte == 0x60 | UInt8(truncatingIfNeeded: count) {
                guard bytes.count &- offset > count else { return nil }
                let content = UnsafeRawBufferPointer(rebasing: bytes[(offset &+ 1)..<(offset &+ 1 &+ count)])
                return isEqual(key, to: content) ? offset &+ 1 &+ count : nil
            }
            if initialByte < 0x78 { return nil }
        }
        return try valueOfUnusualKey(at: offset, ifEqualTo: key)
    }

    @inline(never)
    private func valueOfUnusualKey(at offset: Int, ifEqualTo key: String) throws(CBORError) -> Int? {
        guard let found = MapKey(at: offset, in: session.bytes),
            found.withText({ isEqual(key, to: $0) }) == true
        else { return nil }
        var reader = session.reader(at: offset)
        try skip(&reader)
        return reader.position
    }

    @inline(__always)
    private func isEqual(_ key: String, to content: UnsafeRawBufferPointer) -> Bool {
        key.utf8.withContiguousStorageIfAvailable { utf8 in
            guard utf8.count == content.count else { return false }
            guard let left = utf8.baseAddress, let right = content.baseAddress else { return true }
            return equalBytes(UnsafeRawPointer(left), right, count: content.count)
        } ?? key.utf8.elementsEqual(content)
    }

    @inline(never)
    private func search(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Int? {
        if cursor.pointee.table != nil { return try searchTable(key, cursor) }
        var reader = session.reader(at: cursor.pointee.position)
        var entry = cursor.pointee.entry
        let start = reader.position
        let isPartWay = entry > 0
        var compared = 0
        var wrapped = false
        while true {
            if !hasEntry(reader.position, entry) {
                guard isPartWay, !wrapped else { return nil }
                wrapped = true
                reader.position = first
                entry = 0
            }
            if wrapped, reader.position >= start { return nil }
            if let value = try value(ofKeyAt: reader.position, ifEqualTo: key) {
                cursor.pointee.position = reader.position
                cursor.pointee.entry = entry
                return value
            }
            // The entry at the cursor is usually the one just read, and the next one the one asked for: a table
            // is worth it only past that.
            compared &+= 1
            if compared > MapPlace.linearLimit {
                try buildTable(cursor)
                return try searchTable(key, cursor)
            }
            try skip(&reader)
            if entry == cursor.pointee.entry, let end = session.knownEnd(ofMapAt: reader.position) {
                reader.position = end
            } else {
                try skip(&reader)
            }
            entry &+= 1
        }
    }

    private func buildTable(_ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) {
        guard session.bytes.count <= Int(UInt32.max) else {
            throw CBORError(.inputTooLarge(limit: Int(UInt32.max)), offset: head)
        }
        var table = KeyTable()
        var entry = 0
        try forEachKey { offset in
            if let key = MapKey(at: offset, in: session.bytes), key.withText({ _ in true }) != nil {
                table.insert(hash: key.hash, offset: UInt32(truncatingIfNeeded: offset), entry: entry)
            }
            entry &+= 1
        }
        cursor.pointee.table = table
    }

    private func searchTable(
        _ key: String,
        _ cursor: UnsafeMutablePointer<MapCursor>
    ) throws(CBORError) -> Int? {
        var key = key
        let hash = key.withUTF8 { MapKey.hash(ofText: UnsafeRawBufferPointer($0)) }
        let wanted = key
        let found = cursor.pointee.table?.first(withHash: hash) { offset in
            let known = MapKey(at: Int(offset), in: session.bytes)
            return known?.withText { isEqual(wanted, to: $0) } ?? false
        }
        guard let found else { return nil }
        cursor.pointee.position = Int(found.offset)
        cursor.pointee.entry = found.entry
        return try value(ofKeyAt: Int(found.offset), ifEqualTo: wanted)
    }
}

/// Compares two runs of bytes that are at least `count` long.
@inline(__always)
func equalBytes(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int) -> Bool {
    var index = 0
    while count &- index >= 8 {
        let one = left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        guard one == right.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
        index &+= 8
    }
    while index < count {
        let one = left.load(fromByteOffset: index, as: UInt8.self)
        guard one == right.load(fromByteOffset: index, as: UInt8.self) else { return false }
        index &+= 1
    }
    return true
}
