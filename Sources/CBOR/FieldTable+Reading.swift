extension FieldTable {
    /// Reads an unchecked input if it is a small map with only the layout's fields, in their order and with plain
    /// values; returns whether it did.
    ///
    /// If this returns false, no argument holds a value. The caller then checks the input and calls `read(into:in:)`,
    /// which either reads it or throws. No key can come twice, because each key is met at its own place.
    func readExactly(into arguments: UnsafeMutableRawPointer, in session: DecodingSession) -> Bool {
        let input = session.input
        guard input.count > 0 else { return false }
        let pairs = Int(input.base.load(as: UInt8.self)) &- 0xA0
        guard pairs >= 0, pairs < 24, pairs &* 2 < input.limits.maximumItems else { return false }
        var cursor = MapCursor()
        cursor.reset(to: MapPlace(head: 0, first: 1, count: pairs))
        var index = 0
        let isRead = withUnsafeMutablePointer(to: &cursor) { cursor in
            let reading = FieldReading(input: input, cursor: cursor, session: .passUnretained(session))
            while index < count {
                guard readNext(fields + index, to: arguments, reading) else { return false }
                index &+= 1
            }
            return cursor.pointee.entry == pairs && cursor.pointee.position == input.count
        }
        if !isRead { destroy(index, of: arguments) }
        return isRead
    }

    /// Reads the field that should come next, or takes it as left out; returns false if it can do neither.
    @inline(__always)
    private func readNext(
        _ field: UnsafePointer<Field>,
        to arguments: UnsafeMutableRawPointer,
        _ reading: FieldReading
    ) -> Bool {
        let input = reading.input
        let target = arguments + field.pointee.argument
        let key = FieldTable.key(of: field)
        guard reading.isNext(key) else {
            guard let readMissing = field.pointee.codec.readMissing else { return false }
            readMissing(target)
            return true
        }
        let start = reading.cursor.pointee.position &+ key.pointee.size
        let value = input.base + start
        guard let place = CBORReader.endOfPlainItem(at: value, before: input.base + input.count) else { return false }
        let end = place - input.base
        let entry = reading.cursor.pointee.entry
        switch field.pointee.codec.kind {
        case .integer64:
            guard let read = try? input.integer(Int64.self, at: start) else { return false }
            target.initializeMemory(as: Int64.self, to: read.value)
        case .text:
            guard let read = try? input.string(at: start) else { return false }
            target.initializeMemory(as: String.self, to: read.value)
        case .other:
            guard (try? field.pointee.codec.read(reading, key, target)) != nil else { return false }
        }
        // The cursor is set here even where the codec has moved it itself.
        reading.cursor.pointee.position = end
        reading.cursor.pointee.entry = entry &+ 1
        return true
    }

    private func destroy(_ read: Int, of arguments: UnsafeMutableRawPointer) {
        for index in 0..<read { fields[index].codec.destroy(arguments + fields[index].argument) }
    }

    /// Reads a checked input that begins with a map; each field goes to its place among the arguments.
    ///
    /// Afterwards the arguments hold all values; if this throws, they hold none.
    func read(into arguments: UnsafeMutableRawPointer, in session: DecodingSession) throws {
        let input = session.input
        var cursor = MapCursor()
        cursor.reset(to: try input.map(at: 0))
        try withUnsafeMutablePointer(to: &cursor) { cursor in
            let reading = FieldReading(input: input, cursor: cursor, session: .passUnretained(session))
            var index = 0
            do {
                while index < count {
                    let field = fields + index
                    try field.pointee.codec.read(reading, FieldTable.key(of: field), arguments + field.pointee.argument)
                    index &+= 1
                }
            } catch {
                destroy(index, of: arguments)
                throw error
            }
        }
    }
}
