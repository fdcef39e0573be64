import CBOR

/// Where a field's value lies in an encoded event.
extension PayloadField {
    /// The bytes of the field's value; nil if the event is no map with a count, is not well-formed up to the value, or
    /// has no such field.
    ///
    /// Takes time in proportion to the payload's length, whatever the payload says, and allocates only where
    /// `CBORReader.skipItem()` does. If a name comes twice, the first counts.
    package static func range(of name: String, in payload: UnsafeRawBufferPointer) -> Range<Int>? {
        // A payload that is not well-formed has no fields: its receiver reports what is wrong with it.
        var name = name
        return name.withUTF8 { try? find(UnsafeRawBufferPointer($0), in: payload) }
    }

    private static func find(
        _ name: UnsafeRawBufferPointer,
        in payload: UnsafeRawBufferPointer
    ) throws(CBORError) -> Range<Int>? {
        var reader = CBORReader(payload)
        guard reader.nextMajorType == .map, let count = try reader.readMapHead() else { return nil }
        for _ in 0..<count {
            var isFound = false
            let key = reader.position
            try reader.skipItem()
            if key < payload.count, CBORMajorType(initialByte: payload[key]) == .text {
                isFound = ends(payload[key..<reader.position], with: name)
            }
            let start = reader.position
            try reader.skipItem()
            if isFound { return start..<reader.position }
        }
        return nil
    }

    /// Whether a key is this name: a text of definite length that has the name's length and bytes.
    private static func ends(_ key: Slice<UnsafeRawBufferPointer>, with name: UnsafeRawBufferPointer) -> Bool {
        guard key.count > name.count, key.suffix(name.count).elementsEqual(name) else { return false }
        var reader = CBORReader(UnsafeRawBufferPointer(rebasing: key))
        return (try? reader.readHead()).map { !$0.isIndefinite && $0.argument == UInt64(name.count) } ?? false
    }
}
