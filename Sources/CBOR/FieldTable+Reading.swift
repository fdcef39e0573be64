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
        var (position, entry, index) = (1, 0, 0)
        let isRead = { () -> Bool in
            while index < count {
                guard readNext(fields + index, to: arguments, input, session, pairs, &position, &entry) else {
                    return false
                }
                index &+= 1
            }
            return entry == pairs && position == input.count
        }()
        if !isRead { destroy(index, of: arguments) }
        return isRead
    }

    /// Reads the field that should come next, or takes it as left out; returns false if it can do neither.
    ///
    /// - Parameters:
    ///   - pairs: how many entries the map has.
    ///   - position: where the next entry begins.
    ///   - entry: how many entries were read.
    @inline(__always)
    private func readNext(
        _ field: UnsafePointer<Field>,
        to arguments: UnsafeMutableRawPointer,
        _ input: DecodingInput,
        _ session: DecodingSession,
        _ pairs: Int,
        _ position: inout Int,
        _ entry: inout Int
    ) -> Bool {
        let target = arguments + field.pointee.argument
        let size = field.pointee.key.size
        guard entry < pairs, input.count &- position > size,
            equalBytes(input.base + position, field.pointee.key.bytes, count: size)
        else {
            guard let readMissing = field.pointee.codec.readMissing else { return false }
            readMissing(target)
            return true
        }
        let start = position &+ size
        let value = input.base + start
        guard let end = CBORReader.endOfPlainItem(at: value, before: input.base + input.count) else { return false }
        switch field.pointee.codec.kind {
        case .integer64:
            guard let read = try? input.integer(Int64.self, at: start) else { return false }
            target.initializeMemory(as: Int64.self, to: read.value)
        case .text:
            guard let read = try? input.string(at: start) else { return false }
            target.initializeMemory(as: String.self, to: read.value)
        case .other:
            var cursor = MapCursor()
            cursor.reset(to: MapPlace(head: 0, first: 1, count: pairs))
            (cursor.position, cursor.entry) = (position, entry)
            let isRead = withUnsafeMutablePointer(to: &cursor) { cursor in
                let reading = FieldReading(input: input, cursor: cursor, session: .passUnretained(session))
                return (try? field.pointee.codec.read(reading, FieldTable.key(of: field), target)) != nil
            }
            if !isRead { return false }
        }
        position = end - input.base
        entry &+= 1
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
