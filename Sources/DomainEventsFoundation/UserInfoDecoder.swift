import Foundation

/// Makes an event from a notification's dictionary; whatever is in the dictionary, the outcome is an event or an error.
enum UserInfoDecoder {
    static func decode<T: Decodable>(_ type: T.Type, from userInfo: [AnyHashable: Any]?) throws -> T {
        let root = UserInfoValue.strings(userInfo ?? [:])
        return try T(from: NodeDecoder(content: .root(root), codingPath: []))
    }
}

/// The content that a decoder reads.
private enum FoundContent {
    /// The notification's own dictionary; an event that is a single value or an array is its entry `value`.
    case root([String: Any])
    case value(Any)
}

private struct NodeDecoder: Decoder {
    let content: FoundContent
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let fields: [String: Any]
        switch content {
        case .root(let root):
            fields = root
        case .value(let value):
            guard let dictionary = UserInfoValue.dictionary(value) else {
                throw mismatch([String: Any].self, value, "a dictionary", at: codingPath)
            }
            fields = dictionary
        }
        return KeyedDecodingContainer(FoundFields<Key>(fields: fields, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let (value, path) = try single([Any].self, "an array")
        guard let values = value as? [Any] else { throw mismatch([Any].self, value, "an array", at: path) }
        return FoundElements(values: values, codingPath: path)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { FoundField(decoder: self) }

    /// The value itself, or the entry `value` of the notification's own dictionary.
    func single(_ type: any Any.Type, _ expected: String) throws -> (value: Any, path: [any CodingKey]) {
        switch content {
        case .value(let value):
            return (value, codingPath)
        case .root(let root):
            let path = codingPath + [NameKey.value]
            guard let value = root[NameKey.value.stringValue] else { throw missing(NameKey.value, expected, at: path) }
            return (value, path)
        }
    }
}

// MARK: - Errors

private func mismatch(
    _ type: any Any.Type,
    _ value: Any,
    _ expected: String,
    at path: [any CodingKey]
) -> DecodingError {
    let found = UserInfoValue.describe(value)
    let context = DecodingError.Context(
        codingPath: path,
        debugDescription: "expected \(expected), found \(found)",
        underlyingError: FieldMismatch(at: path, found: found, expected: expected)
    )
    return UserInfoValue.isNull(value) ? .valueNotFound(type, context) : .typeMismatch(type, context)
}

private func missing(_ key: any CodingKey, _ expected: String, at path: [any CodingKey]) -> DecodingError {
    let context = DecodingError.Context(
        codingPath: path.dropLast(),
        debugDescription: "no value for \(key.stringValue)",
        underlyingError: FieldMismatch(at: path, found: "missing", expected: expected)
    )
    return .keyNotFound(key, context)
}

// MARK: - Values

private func decode<T: Decodable>(_ type: T.Type, _ value: Any, at path: [any CodingKey]) throws -> T {
    if UserInfoValue.isKept(T.self) {
        guard let kept = UserInfoValue.keptValue(value, T.self) else {
            throw mismatch(type, value, "\(T.self)", at: path)
        }
        return kept
    }
    guard path.count <= deepestUserInfo else {
        throw mismatch(type, value, "no deeper than \(deepestUserInfo)", at: path)
    }
    return try T(from: NodeDecoder(content: .value(value), codingPath: path))
}

private struct FoundFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: [String: Any]
    let codingPath: [any CodingKey]

    var allKeys: [Key] { fields.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        UserInfoValue.isNull(try value(key, "a value or null"))
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try DomainEventsFoundation.decode(type, value(key, "\(T.self)"), at: codingPath + [key])
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key, "a dictionary").container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key, "an array").unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try decoder(NameKey.superclass, "a dictionary") }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key, "a dictionary") }

    private func value(_ key: any CodingKey, _ expected: String) throws -> Any {
        guard let value = fields[key.stringValue] else { throw missing(key, expected, at: codingPath + [key]) }
        return value
    }

    private func decoder(_ key: any CodingKey, _ expected: String) throws -> NodeDecoder {
        NodeDecoder(content: .value(try value(key, expected)), codingPath: codingPath + [key])
    }
}

private struct FoundElements: UnkeyedDecodingContainer {
    let values: [Any]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0

    init(values: [Any], codingPath: [any CodingKey]) {
        self.values = values
        self.codingPath = codingPath
    }

    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex >= values.count }

    mutating func decodeNil() throws -> Bool {
        let isNull = UserInfoValue.isNull(try current("a value or null"))
        // After a null the container moves on; any other value is read again.
        if isNull { currentIndex += 1 }
        return isNull
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = try DomainEventsFoundation.decode(type, current("\(T.self)"), at: path)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try nextDecoder("a dictionary").container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try nextDecoder("an array").unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { try nextDecoder("a dictionary") }

    private var path: [any CodingKey] { codingPath + [IndexKey(currentIndex)] }

    private func current(_ expected: String) throws -> Any {
        guard !isAtEnd else { throw missing(IndexKey(currentIndex), expected, at: path) }
        return values[currentIndex]
    }

    private mutating func nextDecoder(_ expected: String) throws -> NodeDecoder {
        defer { currentIndex += 1 }
        return NodeDecoder(content: .value(try current(expected)), codingPath: path)
    }
}

private struct FoundField: SingleValueDecodingContainer {
    let decoder: NodeDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool {
        if case .value(let value) = decoder.content { UserInfoValue.isNull(value) } else { false }
    }

    func decode(_ type: Bool.Type) throws -> Bool { try read { UserInfoValue.bool($0) } }
    func decode(_ type: String.Type) throws -> String { try read { $0 as? String } }
    func decode(_ type: Double.Type) throws -> Double { try read { UserInfoValue.double($0) } }
    func decode(_ type: Float.Type) throws -> Float { try read { UserInfoValue.float($0) } }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if UserInfoValue.isKept(T.self) { return try read { UserInfoValue.keptValue($0, T.self) } }
        // The wrapped value may be a dictionary or not: its own decoding says which.
        return try T(from: decoder)
    }

    private func integer<T: FixedWidthInteger>() throws -> T { try read { UserInfoValue.integer($0, T.self) } }

    private func read<T>(_ body: (Any) -> T?) throws -> T {
        let (value, path) = try decoder.single(T.self, "\(T.self)")
        guard let read = body(value) else { throw mismatch(T.self, value, "\(T.self)", at: path) }
        return read
    }
}
