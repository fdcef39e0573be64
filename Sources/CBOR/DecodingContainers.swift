/// The `Decoder` that a type's `init(from:)` is handed: one item in the bytes.
struct ValueDecoder: Decoder {
    let session: DecodingSession
    let offset: Int

    var codingPath: [any CodingKey] { session.codingPath(to: offset) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(
            KeyedReader<Key>(map: try MapPlace(session: session, at: offset, level: session.level))
        )
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try ArrayReader(session: session, at: offset)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueReader(session: session, offset: offset)
    }
}

extension DecodingSession {
    func codingPath(to offset: Int) -> [any CodingKey] {
        CBORPath(to: offset, in: bytes, limits: limits).steps.map { PathKey(step: $0) }
    }
}

/// A map being read.
struct KeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let map: MapPlace

    var codingPath: [any CodingKey] { map.session.codingPath(to: map.head) }

    var allKeys: [Key] {
        var keys: [Key] = []
        var last = 0
        var count = 0
        // The bytes have been checked whole; if they changed since, the keys so far are all there is.
        try? map.forEachKey { offset in
            last = offset
            count += 1
            let name = MapKey(at: offset, in: map.session.bytes)?.withText { String(decoding: $0, as: UTF8.self) }
            if let name, let key = Key(stringValue: name) { keys.append(key) }
        }
        if keys.isEmpty, count == 1 { map.session.unmatchedCase = (map.head, last) }
        return keys
    }

    func contains(_ key: Key) -> Bool {
        (try? map.find(key.stringValue)) != nil
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        map.session.isNull(at: try value(key.stringValue))
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try map.bool(at: try value(key.stringValue))
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try map.string(at: try value(key.stringValue))
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try map.double(at: try value(key.stringValue))
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try map.float(at: try value(key.stringValue))
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try decodeValue(type, at: try value(key.stringValue))
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        guard let offset = try present(key.stringValue) else { return nil }
        return try map.bool(at: offset)
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        guard let offset = try present(key.stringValue) else { return nil }
        return try map.string(at: offset)
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        guard let offset = try present(key.stringValue) else { return nil }
        return try map.double(at: offset)
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        guard let offset = try present(key.stringValue) else { return nil }
        return try map.float(at: offset)
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optionalInteger(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optionalInteger(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optionalInteger(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optionalInteger(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optionalInteger(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optionalInteger(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optionalInteger(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optionalInteger(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optionalInteger(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optionalInteger(key) }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let offset = try present(key.stringValue) else { return nil }
        return try decodeValue(type, at: offset)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let nested = try MapPlace(session: map.session, at: try value(key.stringValue), level: map.level + 1)
        return KeyedDecodingContainer(KeyedReader<NestedKey>(map: nested))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try ArrayReader(session: map.session, at: try value(key.stringValue))
    }

    func superDecoder() throws -> any Decoder {
        ValueDecoder(session: map.session, offset: try value("super"))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        ValueDecoder(session: map.session, offset: try value(key.stringValue))
    }

    @inline(__always)
    private func value(_ key: String) throws(CBORError) -> Int {
        try map.value(key)
    }

    /// The value of a key, nil where it is missing or null.
    @inline(__always)
    private func present(_ key: String) throws(CBORError) -> Int? {
        try map.present(key)
    }

    @inline(__always)
    private func integer<T: FixedWidthInteger>(_ key: Key) throws(CBORError) -> T {
        try map.integer(at: try value(key.stringValue))
    }

    @inline(__always)
    private func optionalInteger<T: FixedWidthInteger>(_ key: Key) throws(CBORError) -> T? {
        guard let offset = try present(key.stringValue) else { return nil }
        return try map.integer(at: offset)
    }

    private func decodeValue<T: Decodable>(_ type: T.Type, at offset: Int) throws -> T {
        let value = try map.session.decode(type, at: offset)
        if let end = map.session.knownEnd(ofMapAt: offset) { map.advance(to: end) }
        return value
    }
}

/// The one value of a decoder, taken as it is.
struct SingleValueReader: SingleValueDecodingContainer {
    let session: DecodingSession
    let offset: Int

    var codingPath: [any CodingKey] { session.codingPath(to: offset) }

    func decodeNil() -> Bool { session.isNull(at: offset) }
    func decode(_ type: Bool.Type) throws -> Bool { try session.bool(at: offset).value }
    func decode(_ type: String.Type) throws -> String { try session.string(at: offset).value }
    func decode(_ type: Double.Type) throws -> Double { try session.double(at: offset).value }
    func decode(_ type: Float.Type) throws -> Float { try session.float(at: offset).value }
    func decode(_ type: Int.Type) throws -> Int { try session.integer(type, at: offset).value }
    func decode(_ type: Int8.Type) throws -> Int8 { try session.integer(type, at: offset).value }
    func decode(_ type: Int16.Type) throws -> Int16 { try session.integer(type, at: offset).value }
    func decode(_ type: Int32.Type) throws -> Int32 { try session.integer(type, at: offset).value }
    func decode(_ type: Int64.Type) throws -> Int64 { try session.integer(type, at: offset).value }
    func decode(_ type: UInt.Type) throws -> UInt { try session.integer(type, at: offset).value }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try session.integer(type, at: offset).value }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try session.integer(type, at: offset).value }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try session.integer(type, at: offset).value }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try session.integer(type, at: offset).value }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try session.decode(type, at: offset) }
}
