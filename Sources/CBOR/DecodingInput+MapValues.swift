/// Reading the plain values of maps.
///
/// These functions are not generic over the key type of the container that calls them, so they are compiled only once.
extension DecodingInput {
    func isNull(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Bool {
        isNull(at: try value(of: key, cursor))
    }

    func bool(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Bool {
        finish(try bool(at: try value(of: key, cursor)), cursor)
    }

    func boolIfPresent(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Bool? {
        guard let offset = try present(key, cursor) else { return nil }
        return finish(try bool(at: offset), cursor)
    }

    func string(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> String {
        finish(try string(at: try value(of: key, cursor)), cursor)
    }

    func stringIfPresent(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> String? {
        guard let offset = try present(key, cursor) else { return nil }
        return finish(try string(at: offset), cursor)
    }

    func double(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Double {
        finish(try double(at: try value(of: key, cursor)), cursor)
    }

    func doubleIfPresent(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Double? {
        guard let offset = try present(key, cursor) else { return nil }
        return finish(try double(at: offset), cursor)
    }

    func float(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Float {
        finish(try float(at: try value(of: key, cursor)), cursor)
    }

    func floatIfPresent(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> Float? {
        guard let offset = try present(key, cursor) else { return nil }
        return finish(try float(at: offset), cursor)
    }

    /// A key's value, read as the parts of an integer; if the value is no integer, `IntegerRead.value(in:)` throws.
    func integer(_ key: String, _ cursor: UnsafeMutablePointer<MapCursor>) throws(CBORError) -> IntegerRead {
        try integer(at: try value(of: key, cursor), cursor)
    }

    func integerIfPresent(
        _ key: String,
        _ cursor: UnsafeMutablePointer<MapCursor>
    ) throws(CBORError) -> IntegerRead? {
        guard let offset = try present(key, cursor) else { return nil }
        return try integer(at: offset, cursor)
    }

    @inline(__always)
    private func integer(
        at offset: Int,
        _ cursor: UnsafeMutablePointer<MapCursor>
    ) throws(CBORError) -> IntegerRead {
        let read = try integerRead(at: offset)
        if read.isInteger { advance(cursor, to: read.end) }
        return read
    }

    @inline(__always)
    private func finish<T>(_ read: (value: T, end: Int), _ cursor: UnsafeMutablePointer<MapCursor>) -> T {
        advance(cursor, to: read.end)
        return read.value
    }
}
