/// The `Decoder` that a type's `init(from:)` gets: one item in the bytes.
struct ValueDecoder: Decoder {
    let session: DecodingSession
    let offset: Int

    var codingPath: [any CodingKey] { session.codingPath(to: offset) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        session.container(keyedBy: type, of: try session.input.map(at: offset))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try ArrayReader(session: session, at: offset)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueReader(session: session, offset: offset)
    }
}

extension DecodingSession {
    /// The path to an item; empty if the paths for this value have used up the ``PathAllowance``.
    func codingPath(to offset: Int) -> [any CodingKey] {
        guard input.state.pointee.paths.allowsWalk(over: offset, ofPayload: input.count) else { return [] }
        return CBORPath(to: offset, in: input.bytes, limits: input.limits).steps.map { PathKey(step: $0) }
    }
}

/// A map being read: what `KeptReader` and `FreeReader` have in common.
protocol KeyedReader: KeyedDecodingContainerProtocol {
    var session: DecodingSession { get }
    var input: DecodingInput { get }
    var cursor: UnsafeMutablePointer<MapCursor> { get }
}

/// A reader that the session keeps; it uses the cursor of its slot.
///
/// The standard library copies the container for each value that a caller asks for. To keep these copies cheap, the
/// reader does not retain the session. The session outlives the readers that it keeps (`DecodingSession.retire()`).
struct KeptReader<Key: CodingKey>: KeyedReader {
    let input: DecodingInput
    let cursor: UnsafeMutablePointer<MapCursor>
    private let reference: Unmanaged<DecodingSession>

    init(session: DecodingSession, cursor: UnsafeMutablePointer<MapCursor>) {
        input = session.input
        self.cursor = cursor
        reference = .passUnretained(session)
    }

    var session: DecodingSession { reference.takeUnretainedValue() }
}

/// A reader that the session does not keep; its copies share one cursor.
struct FreeReader<Key: CodingKey>: KeyedReader {
    private let free: FreeCursor

    init(session: DecodingSession, map: MapPlace) {
        free = FreeCursor(session: session, map: map)
    }

    var session: DecodingSession { free.session }
    var input: DecodingInput { free.session.input }
    var cursor: UnsafeMutablePointer<MapCursor> { free.cursor }
}

extension KeyedReader {
    var codingPath: [any CodingKey] { session.codingPath(to: cursor.pointee.map) }

    var allKeys: [Key] {
        var keys: [Key] = []
        var last = 0
        var count = 0
        // All bytes have been checked; if another process has changed them since, return the keys found so far.
        try? input.forEachKey(of: cursor) { offset in
            last = offset
            count += 1
            let name = MapKey(at: offset, in: input.bytes)?.withText { String(decoding: $0, as: UTF8.self) }
            if let name, let key = Key(stringValue: name) { keys.append(key) }
        }
        if keys.isEmpty, count == 1 { input.state.pointee.unmatchedCase = (cursor.pointee.map, last) }
        return keys
    }

    func contains(_ key: Key) -> Bool {
        (try? input.find(key.stringValue, cursor)) != nil
    }

    @inline(__always)
    func decodeNil(forKey key: Key) throws -> Bool {
        try input.isNull(key.stringValue, cursor)
    }

    @inline(__always)
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try input.bool(key.stringValue, cursor)
    }

    @inline(__always)
    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try input.string(key.stringValue, cursor)
    }

    @inline(__always)
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try input.double(key.stringValue, cursor)
    }

    @inline(__always)
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try input.float(key.stringValue, cursor)
    }

    @inline(__always)
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
    @inline(__always)
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
    @inline(__always)
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
    @inline(__always)
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
    @inline(__always)
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
    @inline(__always)
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
    @inline(__always)
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
    @inline(__always)
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
    @inline(__always)
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
    @inline(__always)
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }

    @inline(__always)
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        let cursor = cursor
        return try session.decode(type, at: try input.value(of: key.stringValue, cursor), cursor)
    }

    @inline(__always)
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try input.boolIfPresent(key.stringValue, cursor)
    }

    @inline(__always)
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try input.stringIfPresent(key.stringValue, cursor)
    }

    @inline(__always)
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try input.doubleIfPresent(key.stringValue, cursor)
    }

    @inline(__always)
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try input.floatIfPresent(key.stringValue, cursor)
    }

    @inline(__always)
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optionalInteger(key) }
    @inline(__always)
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optionalInteger(key) }
    @inline(__always)
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optionalInteger(key) }
    @inline(__always)
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optionalInteger(key) }
    @inline(__always)
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optionalInteger(key) }
    @inline(__always)
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optionalInteger(key) }
    @inline(__always)
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optionalInteger(key) }
    @inline(__always)
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optionalInteger(key) }
    @inline(__always)
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optionalInteger(key) }
    @inline(__always)
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optionalInteger(key) }

    @inline(__always)
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        let cursor = cursor
        guard let offset = try input.present(key.stringValue, cursor) else { return nil }
        return try session.decode(type, at: offset, cursor)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        session.container(keyedBy: type, of: try input.map(at: try input.value(of: key.stringValue, cursor)))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try ArrayReader(session: session, at: try input.value(of: key.stringValue, cursor))
    }

    func superDecoder() throws -> any Decoder {
        ValueDecoder(session: session, offset: try input.value(of: "super", cursor))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        ValueDecoder(session: session, offset: try input.value(of: key.stringValue, cursor))
    }

    @inline(__always)
    private func integer<T: FixedWidthInteger>(_ key: Key) throws -> T {
        try input.integer(key.stringValue, cursor).value(in: input)
    }

    @inline(__always)
    private func optionalInteger<T: FixedWidthInteger>(_ key: Key) throws -> T? {
        try input.integerIfPresent(key.stringValue, cursor)?.value(in: input)
    }
}

/// The one value of a decoder, neither a map nor an array.
struct SingleValueReader: SingleValueDecodingContainer {
    let session: DecodingSession
    let offset: Int

    var codingPath: [any CodingKey] { session.codingPath(to: offset) }

    func decodeNil() -> Bool { session.input.isNull(at: offset) }
    func decode(_ type: Bool.Type) throws -> Bool { try session.input.bool(at: offset).value }
    func decode(_ type: String.Type) throws -> String { try session.input.string(at: offset).value }
    func decode(_ type: Double.Type) throws -> Double { try session.input.double(at: offset).value }
    func decode(_ type: Float.Type) throws -> Float { try session.input.float(at: offset).value }
    func decode(_ type: Int.Type) throws -> Int { try session.input.integer(type, at: offset).value }
    func decode(_ type: Int8.Type) throws -> Int8 { try session.input.integer(type, at: offset).value }
    func decode(_ type: Int16.Type) throws -> Int16 { try session.input.integer(type, at: offset).value }
    func decode(_ type: Int32.Type) throws -> Int32 { try session.input.integer(type, at: offset).value }
    func decode(_ type: Int64.Type) throws -> Int64 { try session.input.integer(type, at: offset).value }
    func decode(_ type: UInt.Type) throws -> UInt { try session.input.integer(type, at: offset).value }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try session.input.integer(type, at: offset).value }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try session.input.integer(type, at: offset).value }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try session.input.integer(type, at: offset).value }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try session.input.integer(type, at: offset).value }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try session.decode(type, at: offset) }
}
