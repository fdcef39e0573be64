/// The `Encoder` that a value gets: a place in the session.
struct ValueEncoder: Encoder {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        do throws(CBORError) {
            try place.session.open(place.level, as: .map)
            return place.session.container(keyedBy: type, at: place.level)
        } catch {
            return KeyedEncodingContainer(KeyedWriter<Key>(place: place.session.closedPlace(because: error)))
        }
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        do throws(CBORError) {
            try place.session.open(place.level, as: .array)
            return UnkeyedWriter(place: place)
        } catch {
            return UnkeyedWriter(place: place.session.closedPlace(because: error))
        }
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueWriter(place: place)
    }
}

extension EncodingPlace {
    var codingPath: [any CodingKey] {
        session.path(through: level.index - 1).map { PathKey(step: $0) }
    }
}

// The writers change no property of their own, so their methods need not be `mutating`. That saves a copy of the place
// and the counting of its references.

/// A map being written.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.codingPath }

    func encodeNil(forKey key: Key) throws { try place.session.encodeNil(key.stringValue, in: place.level) }

    func encode(_ value: Bool, forKey key: Key) throws {
        try place.session.encode(value, key.stringValue, in: place.level)
    }

    func encode(_ value: String, forKey key: Key) throws {
        try place.session.encode(value, key.stringValue, in: place.level)
    }

    func encode(_ value: Double, forKey key: Key) throws {
        try place.session.encode(value, key.stringValue, in: place.level)
    }

    func encode(_ value: Float, forKey key: Key) throws { try encode(Double(value), forKey: key) }
    func encode(_ value: Int, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int8, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int16, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int32, forKey key: Key) throws { try encode(Int64(value), forKey: key) }

    func encode(_ value: Int64, forKey key: Key) throws {
        try place.session.encode(value, key.stringValue, in: place.level)
    }

    func encode(_ value: UInt, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }

    func encode(_ value: UInt64, forKey key: Key) throws {
        try place.session.encode(value, key.stringValue, in: place.level)
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        let level = place.level
        try place.session.beginEntry(key.stringValue, of: level)
        try place.session.encodeEntry(value, of: level.index)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        let child = place.session.beginChild(as: .map, key.stringValue, of: place.level)
        return child.session.container(keyedBy: keyType, at: child.level)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        UnkeyedWriter(place: place.session.beginChild(as: .array, key.stringValue, of: place.level))
    }

    func superEncoder() -> any Encoder {
        ValueEncoder(place: place.session.beginChild(as: .undecided, "super", of: place.level))
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        ValueEncoder(place: place.session.beginChild(as: .undecided, key.stringValue, of: place.level))
    }
}

/// An array being written.
struct UnkeyedWriter: UnkeyedEncodingContainer {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.codingPath }
    var count: Int { place.session.count(of: place.level) }

    func encodeNil() throws { try place.session.encodeNil(.element, in: place.level) }
    func encode(_ value: Bool) throws { try place.session.encode(value, .element, in: place.level) }
    func encode(_ value: String) throws { try place.session.encode(value, .element, in: place.level) }
    func encode(_ value: Double) throws { try place.session.encode(value, .element, in: place.level) }
    func encode(_ value: Float) throws { try encode(Double(value)) }
    func encode(_ value: Int) throws { try encode(Int64(value)) }
    func encode(_ value: Int8) throws { try encode(Int64(value)) }
    func encode(_ value: Int16) throws { try encode(Int64(value)) }
    func encode(_ value: Int32) throws { try encode(Int64(value)) }
    func encode(_ value: Int64) throws { try place.session.encode(value, .element, in: place.level) }
    func encode(_ value: UInt) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt8) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt16) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt32) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt64) throws { try place.session.encode(value, .element, in: place.level) }

    func encode<T: Encodable>(_ value: T) throws {
        let level = place.level
        try place.session.beginElement(of: level)
        try place.session.encodeElement(value, of: level.index)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        let child = place.session.beginChild(as: .map, of: place.level)
        return child.session.container(keyedBy: keyType, at: child.level)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedWriter(place: place.session.beginChild(as: .array, of: place.level))
    }

    func superEncoder() -> any Encoder {
        ValueEncoder(place: place.session.beginChild(as: .undecided, of: place.level))
    }
}

/// The one value of an encoder, neither a map nor an array.
struct SingleValueWriter: SingleValueEncodingContainer {
    let place: EncodingPlace

    var codingPath: [any CodingKey] { place.codingPath }

    func encodeNil() throws { try place.session.encodeNil(.single, in: place.level) }
    func encode(_ value: Bool) throws { try place.session.encode(value, .single, in: place.level) }
    func encode(_ value: String) throws { try place.session.encode(value, .single, in: place.level) }
    func encode(_ value: Double) throws { try place.session.encode(value, .single, in: place.level) }
    func encode(_ value: Float) throws { try encode(Double(value)) }
    func encode(_ value: Int) throws { try encode(Int64(value)) }
    func encode(_ value: Int8) throws { try encode(Int64(value)) }
    func encode(_ value: Int16) throws { try encode(Int64(value)) }
    func encode(_ value: Int32) throws { try encode(Int64(value)) }
    func encode(_ value: Int64) throws { try place.session.encode(value, .single, in: place.level) }
    func encode(_ value: UInt) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt8) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt16) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt32) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt64) throws { try place.session.encode(value, .single, in: place.level) }

    func encode<T: Encodable>(_ value: T) throws {
        let level = place.level
        try place.session.open(level, as: .single)
        try place.session.encode(value, inside: level.index)
    }
}

/// A step of a path as the key that `Codable` wants.
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
