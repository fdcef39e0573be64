/// Finding the values of keys in maps.
extension DecodingInput {
    /// A search builds a table when it has compared more keys than this, one by one.
    private static let linearLimit = 16

    /// A map of more bytes is long: a search builds a table if more than ``roundLimit`` searches have come to its end.
    ///
    /// Otherwise a type that asks a container for keys again and again, such as once for each element of an array in
    /// this map, would pass over the whole map each time.
    private static let longMap = 1_024
    private static let roundLimit = 16

    @inline(__always)
    func map(at offset: Int) throws(CBORError) -> MapPlace {
        if offset < count {
            // Up to 23 pairs: their number is in the head's only byte.
            let pairs = Int(base.load(fromByteOffset: offset, as: UInt8.self)) &- 0xA0
            if pairs >= 0, pairs < 24, pairs &* 2 < count &- offset {
                return MapPlace(head: offset, first: offset &+ 1, count: pairs)
            }
        }
        return try unusualMap(at: offset)
    }

    @inline(never)
    private func unusualMap(at offset: Int) throws(CBORError) -> MapPlace {
        let offset = try skippingSelfDescription(at: offset)
        var reader = reader(at: offset)
        let pairs = try reader.readMapHead() ?? -1
        return MapPlace(head: offset, first: reader.position, count: pairs)
    }

    /// Moves the cursor to a key's entry and returns the offset of its value; nil if the map has no such key.
    @inline(__always)
    func find(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Int? {
        if hasEntry(cursor.pointee.position, cursor.pointee.entry, cursor),
            let value = try value(ofKeyAt: cursor.pointee.position, ifEqualTo: key, cursor)
        {
            return value
        }
        return try search(key, cursor)
    }

    /// Notes that the entry at the cursor has been read, and where its value ends.
    @inline(__always)
    func advance(_ cursor: UnsafeMutablePointer<MapCursor>, to end: Int) {
        cursor.pointee.position = end
        cursor.pointee.entry &+= 1
        if cursor.pointee.entry == cursor.pointee.count {
            state.pointee.finishedMap = cursor.pointee.map
            state.pointee.finishedEnd = end
        }
    }

    @inline(__always)
    func value(of key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Int {
        if let offset = try find(key, cursor) { return offset }
        throw CBORError(.missingKey(key), offset: cursor.pointee.map)
    }

    /// The offset of a key's value; nil if the key is missing or the value is null.
    @inline(__always)
    func present(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Int? {
        guard let offset = try find(key, cursor), !isNull(at: offset) else { return nil }
        return offset
    }

    /// Calls `body` with the offset of each key.
    func forEachKey(
        of cursor: UnsafeMutablePointer<MapCursor>,
        _ body: (Int) -> Void
    ) throws(CBORError) {
        var reader = reader(at: cursor.pointee.first)
        var entry = 0
        while hasEntry(reader.position, entry, cursor) {
            body(reader.position)
            try skip(&reader)
            try skip(&reader)
            entry &+= 1
        }
    }

    @inline(__always)
    private func hasEntry(_ position: Int, _ entry: Int, _ cursor: UnsafeMutablePointer<MapCursor>) -> Bool {
        if cursor.pointee.count >= 0 { return entry < cursor.pointee.count }
        return position < count && bytes[position] != CBORHead.breakByte
    }

    private func skip(_ reader: inout CBORReader) throws(CBORError) {
        try reader.skipCheckedItem(levelsLeft: limits.maximumDepth)
    }

    /// The offset of the value after a key; nil if the key is not this text, and perhaps nil for an unusual key of a
    /// map that has a table.
    @inline(__always)
    private func value(
        ofKeyAt offset: Int,
        ifEqualTo key: String,
        _ cursor: UnsafeMutablePointer<MapCursor>
    ) throws(CBORError) -> Int? {
        let size = key.utf8.count
        if size < 24 {
            // The head of a short key is one byte, so one comparison checks kind and length. A chunked key, or a key
            // with a longer spelling of its length, has another first byte: `valueOfUnusualKey` compares it.
            guard offset < count else { return nil }
            let initialByte = base.load(fromByteOffset: offset, as: UInt8.self)
            if initialByte == 0x60 | UInt8(truncatingIfNeeded: size) {
                guard count &- offset > size else { return nil }
                let content = UnsafeRawBufferPointer(start: base + (offset &+ 1), count: size)
                return isEqual(key, to: content) ? offset &+ 1 &+ size : nil
            }
            if initialByte < 0x78 { return nil }
        }
        return try valueOfUnusualKey(at: offset, ifEqualTo: key, cursor)
    }

    @inline(never)
    private func valueOfUnusualKey(
        at offset: Int,
        ifEqualTo key: String,
        _ cursor: UnsafeMutablePointer<MapCursor>
    ) throws(CBORError) -> Int? {
        // The table finds such a key; a comparison would read it, perhaps as long as the payload, in each search.
        if cursor.pointee.table != nil { return nil }
        guard let found = MapKey(at: offset, in: bytes),
            found.withText({ isEqual(key, to: $0) }) == true
        else { return nil }
        return try endOfCheckedItem(at: offset)
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
    private func search(
        _ key: String,
        _ cursor: UnsafeMutablePointer<MapCursor>
    ) throws(CBORError) -> Int? {
        if cursor.pointee.table != nil { return try searchTable(key, cursor) }
        let start = cursor.pointee.position
        let isPartWay = cursor.pointee.entry > 0
        var position = start
        var entry = cursor.pointee.entry
        var compared = 0
        var wrapped = false
        while true {
            if !hasEntry(position, entry, cursor) {
                if position &- cursor.pointee.first > DecodingInput.longMap, isLastRound(cursor) {
                    try buildTable(cursor)
                    return try searchTable(key, cursor)
                }
                guard isPartWay, !wrapped else { return nil }
                wrapped = true
                position = cursor.pointee.first
                entry = 0
            }
            if wrapped, position >= start { return nil }
            if let value = try value(ofKeyAt: position, ifEqualTo: key, cursor) {
                cursor.pointee.position = position
                cursor.pointee.entry = entry
                return value
            }
            // The caller has usually just read the entry at the cursor, and asks for the next entry. A table pays off
            // only after many comparisons.
            compared &+= 1
            if compared > DecodingInput.linearLimit {
                try buildTable(cursor)
                return try searchTable(key, cursor)
            }
            position = try endOfCheckedItem(at: position)
            if entry == cursor.pointee.entry, let end = knownEnd(ofMapAt: position) {
                position = end
            } else {
                position = try endOfCheckedItem(at: position)
            }
            entry &+= 1
        }
    }

    /// Notes that a search has come to the end of a long map, and returns whether the search has to go on in a table.
    @inline(never)
    private func isLastRound(_ cursor: UnsafeMutablePointer<MapCursor>) -> Bool {
        cursor.pointee.rounds &+= 1
        return cursor.pointee.rounds > DecodingInput.roundLimit
    }

    /// Where the item at an offset ends, in input that has been checked.
    @inline(__always)
    private func endOfCheckedItem(at offset: Int) throws(CBORError) -> Int {
        if offset < count {
            let initialByte = base.load(fromByteOffset: offset, as: UInt8.self)
            let additional = Int(initialByte & 0x1F)
            if additional < 24 {
                switch initialByte >> 5 {
                case 0, 1, 7: return offset &+ 1
                // Never beyond the end of the input, even if another process has changed the head since the check.
                case 2, 3: return min(offset &+ 1 &+ additional, count)
                default: break
                }
            }
        }
        var reader = reader(at: offset)
        try skip(&reader)
        return reader.position
    }

    private func buildTable(_ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) {
        guard count <= Int(UInt32.max) else {
            throw CBORError(.inputTooLarge(limit: Int(UInt32.max)), offset: cursor.pointee.map)
        }
        var table = KeyTable()
        var entry = 0
        try forEachKey(of: cursor) { offset in
            if let key = MapKey(at: offset, in: bytes), key.withText({ _ in true }) != nil {
                table.insert(hash: key.hash, offset: UInt32(truncatingIfNeeded: offset), entry: entry)
            }
            entry &+= 1
        }
        cursor.pointee.table = table
        state.pointee.hasTables = true
    }

    private func searchTable(
        _ key: String,
        _ cursor: UnsafeMutablePointer<MapCursor>
    ) throws(CBORError) -> Int? {
        var key = key
        let hash = key.withUTF8 { MapKey.hash(ofText: UnsafeRawBufferPointer($0)) }
        let wanted = key
        let found = cursor.pointee.table?.first(withHash: hash) { offset in
            let known = MapKey(at: Int(offset), in: bytes)
            return known?.withText { isEqual(wanted, to: $0) } ?? false
        }
        guard let found else { return nil }
        cursor.pointee.position = Int(found.offset)
        cursor.pointee.entry = found.entry
        return try endOfCheckedItem(at: Int(found.offset))
    }
}
