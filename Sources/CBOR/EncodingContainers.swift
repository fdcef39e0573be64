/// The `Encoder` that a value is handed: a place in the session.
struct ValueEncoder: Encoder {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.codingPath(through: place.index - 1) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedWriter<Key>(place: opened(as: .map)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedWriter(place: opened(as: .array))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueWriter(place: place)
    }

    @inline(__always)
    private func opened(as kind: EncodingFrame.Kind) -> EncodingPlace {
        do throws(CBORError) {
            try place.session.open(place, as: kind)
            return place
        } catch {
            return place.session.closedPlace(because: error)
        }
    }
}

extension EncodingPlace {
    func codingPath(through index: Int) -> [any CodingKey] {
        session.path(through: index).map { PathKey(step: $0) }
    }

    /// Writes the key of the next entry of a map.
    @inline(__always)
    func beginEntry(_ key: String) throws(CBORError) {
        let frame = try session.enter(self)
        frame.pointee.lastKey = session.buffer.count
        frame.pointee.count &+= 1
        CBORWriter(session.buffer).text(key)
    }

    @inline(__always)
    func beginElement() throws(CBORError) {
        let frame = try session.enter(self)
        frame.pointee.count &+= 1
    }

    @inline(__always)
    var writer: CBORWriter { CBORWriter(session.buffer) }
}

/// A map being written.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.codingPath(through: place.index - 1) }

    mutating func encodeNil(forKey key: Key) throws {
        try place.beginEntry(key.stringValue)
        place.writer.null()
    }

    mutating func encode(_ value: Bool, forKey key: Key) throws {
        try place.beginEntry(key.stringValue)
        place.writer.bool(value)
    }

    mutating func encode(_ value: String, forKey key: Key) throws {
        try place.beginEntry(key.stringValue)
        place.writer.text(value)
    }

    mutating func encode(_ value: Double, forKey key: Key) throws {
        try place.beginEntry(key.stringValue)
        place.writer.floatingPoint(value)
    }

    mutating func encode(_ value: Float, forKey key: Key) throws {
        try place.beginEntry(key.stringValue)
        place.writer.floatingPoint(Double(value))
    }

    mutating func encode(_ value: Int, forKey key: Key) throws {
        try place.beginEntry(key.stringValue)
        place.writer.integer(Int64(value))
    }

    mutating func encode(_ value: Int8, forKey key: Key) throws { try encode(Int(value), forKey: key) }
    mutating func encode(_ value: Int16, forKey key: Key) throws { try encode(Int(value), forKey: key) }
    mutating func encode(_ value: Int32, forKey key: Key) throws { try encode(Int(value), forKey: key) }

    mutating func encode(_ value: Int64, forKey key: Key) throws {
        try place.beginEntry(key.stringValue)
        place.writer.integer(value)
    }

    mutating func encode(_ value: UInt, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    mutating func encode(_ value: UInt8, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    mutating func encode(_ value: UInt16, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    mutating func encode(_ value: UInt32, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }

    mutating func encode(_ value: UInt64, forKey key: Key) throws {
        try place.beginEntry(key.stringValue)
        place.writer.unsigned(value)
    }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        let start = place.session.buffer.count
        try place.beginEntry(key.stringValue)
        do {
            try place.session.encode(value, inside: place.index)
        } catch {
            place.session.removeLastEntry(at: place.index, from: start)
            throw error
        }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(KeyedWriter<NestedKey>(place: child(as: .map, key.stringValue)))
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        UnkeyedWriter(place: child(as: .array, key.stringValue))
    }

    mutating func superEncoder() -> any Encoder {
        ValueEncoder(place: child(as: .undecided, "super"))
    }

    mutating func superEncoder(forKey key: Key) -> any Encoder {
        ValueEncoder(place: child(as: .undecided, key.stringValue))
    }

    private func child(as kind: EncodingFrame.Kind, _ key: String) -> EncodingPlace {
        do throws(CBORError) {
            try place.beginEntry(key)
        } catch {
            return place.session.closedPlace(because: error)
        }
        return place.session.openChild(of: place, as: kind)
    }
}

/// An array being written.
struct UnkeyedWriter: UnkeyedEncodingContainer {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.codingPath(through: place.index - 1) }
    var count: Int { place.session.count(of: place) }

    mutating func encodeNil() throws {
        try place.beginElement()
        place.writer.null()
    }

    mutating func encode(_ value: Bool) throws {
        try place.beginElement()
        place.writer.bool(value)
    }

    mutating func encode(_ value: String) throws {
        try place.beginElement()
        place.writer.text(value)
    }

    mutating func encode(_ value: Double) throws {
        try place.beginElement()
        place.writer.floatingPoint(value)
    }

    mutating func encode(_ value: Float) throws { try encode(Double(value)) }
    mutating func encode(_ value: Int) throws { try encode(Int64(value)) }
    mutating func encode(_ value: Int8) throws { try encode(Int64(value)) }
    mutating func encode(_ value: Int16) throws { try encode(Int64(value)) }
    mutating func encode(_ value: Int32) throws { try encode(Int64(value)) }

    mutating func encode(_ value: Int64) throws {
        try place.beginElement()
        place.writer.integer(value)
    }

    mutating func encode(_ value: UInt) throws { try encode(UInt64(value)) }
    mutating func encode(_ value: UInt8) throws { try encode(UInt64(value)) }
    mutating func encode(_ value: UInt16) throws { try encode(UInt64(value)) }
    mutating func encode(_ value: UInt32) throws { try encode(UInt64(value)) }

    mutating func encode(_ value: UInt64) throws {
        try place.beginElement()
        place.writer.unsigned(value)
    }

    mutating func encode<T: Encodable>(_ value: T) throws {
        let start = place.session.buffer.count
        try place.beginElement()
        do {
            try place.session.encode(value, inside: place.index)
        } catch {
            place.session.removeLastEntry(at: place.index, from: start)
            throw error
        }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(KeyedWriter<NestedKey>(place: child(as: .map)))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedWriter(place: child(as: .array))
    }

    mutating func superEncoder() -> any Encoder {
        ValueEncoder(place: child(as: .undecided))
    }

    private func child(as kind: EncodingFrame.Kind) -> EncodingPlace {
        do throws(CBORError) {
            try place.beginElement()
        } catch {
            return place.session.closedPlace(because: error)
        }
        return place.session.openChild(of: place, as: kind)
    }
}

/// The one value of an encoder that is neither a map nor an array.
struct SingleValueWriter: SingleValueEncodingContainer {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.codingPath(through: place.index - 1) }

    mutating func encodeNil() throws { try begin().null() }
    mutating func encode(_ value: Bool) throws { try begin().bool(value) }
    mutating func encode(_ value: String) throws { try begin().text(value) }
    mutating func encode(_ value: Double) throws { try begin().floatingPoint(value) }
    mutating func encode(_ value: Float) throws { try begin().floatingPoint(Double(value)) }
    mutating func encode(_ value: Int) throws { try begin().integer(Int64(value)) }
    mutating func encode(_ value: Int8) throws { try begin().integer(Int64(value)) }
    mutating func encode(_ value: Int16) throws { try begin().integer(Int64(value)) }
    mutating func encode(_ value: Int32) throws { try begin().integer(Int64(value)) }
    mutating func encode(_ value: Int64) throws { try begin().integer(value) }
    mutating func encode(_ value: UInt) throws { try begin().unsigned(UInt64(value)) }
    mutating func encode(_ value: UInt8) throws { try begin().unsigned(UInt64(value)) }
    mutating func encode(_ value: UInt16) throws { try begin().unsigned(UInt64(value)) }
    mutating func encode(_ value: UInt32) throws { try begin().unsigned(UInt64(value)) }
    mutating func encode(_ value: UInt64) throws { try begin().unsigned(value) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        try place.session.open(place, as: .single)
        try place.session.encode(value, inside: place.index)
    }

    @inline(__always)
    private func begin() throws(CBORError) -> CBORWriter {
        try place.session.open(place, as: .single)
        return place.writer
    }
}

/// A step of a path where Codable wants a key.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(step: CBORPathStep) {
        switch step {
        case .key(let key):
            stringValue = key
            intValue = nil
        case .index(let index):
            stringValue = "Index \(index)"
            intValue = index
        }
    }

    init?(stringValue: String) {
        self.init(step: .key(stringValue))
    }

    init?(intValue: Int) {
        self.init(step: .index(intValue))
    }
}
