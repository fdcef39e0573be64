import Foundation

/// Turns an event's fields into a notification's dictionary.
///
/// Fields keep their types: a 64-bit integer stays a 64-bit integer, and dates, data, UUIDs, URLs and decimals stay as
/// they are. Nested types become dictionaries, arrays become arrays, and a nil field is left out, unless its type's own
/// coding encodes a null.
enum UserInfoEncoder {
    static func encode<T: Encodable>(_ event: T) throws -> [String: Any] {
        let node = EncodedNode()
        try event.encode(to: NodeEncoder(node: node, codingPath: []))
        let plain = node.plain
        // Every notification has a dictionary, even for an event that is a single value or an array.
        return plain as? [String: Any] ?? [NameKey.value.stringValue: plain]
    }
}

/// The deepest nesting of fields: a type that contains itself must not use up the stack.
let deepestUserInfo = 128

/// A place in the dictionary that is being made.
private final class EncodedNode {
    enum Content {
        case keyed([String: EncodedNode])
        case unkeyed([EncodedNode])
        case value(Any)
    }

    var content: Content?

    var plain: Any {
        switch content {
        case .keyed(let nodes): nodes.mapValues(\.plain)
        case .unkeyed(let nodes): nodes.map(\.plain)
        case .value(let value): value
        case nil: [String: Any]()
        }
    }

    var count: Int {
        if case .unkeyed(let nodes) = content { nodes.count } else { 0 }
    }

    func child(_ key: String) -> EncodedNode {
        var nodes: [String: EncodedNode] = [:]
        if case .keyed(let known) = content { nodes = known }
        // Without this, each new field would copy the dictionary.
        content = nil
        let child = EncodedNode()
        nodes[key] = child
        content = .keyed(nodes)
        return child
    }

    func append() -> EncodedNode {
        var nodes: [EncodedNode] = []
        if case .unkeyed(let known) = content { nodes = known }
        // Without this, each new element would copy the array.
        content = nil
        let child = EncodedNode()
        nodes.append(child)
        content = .unkeyed(nodes)
        return child
    }

    /// Makes the place a dictionary, unless it is one: several containers of one kind share the place.
    func becomeKeyed() {
        if case .keyed = content { return }
        content = .keyed([:])
    }

    func becomeUnkeyed() {
        if case .unkeyed = content { return }
        content = .unkeyed([])
    }

    func set<T: Encodable>(_ value: T, at path: [any CodingKey]) throws {
        if UserInfoValue.isKept(T.self) {
            content = .value(value)
            return
        }
        guard path.count <= deepestUserInfo else {
            let context = EncodingError.Context(codingPath: path, debugDescription: "deeper than \(deepestUserInfo)")
            throw EncodingError.invalidValue(T.self, context)
        }
        try value.encode(to: NodeEncoder(node: self, codingPath: path))
    }
}

private struct NodeEncoder: Encoder {
    let node: EncodedNode
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeKeyed()
        return KeyedEncodingContainer(KeyedFields<Key>(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.becomeUnkeyed()
        return UnkeyedFields(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleField(node: node, codingPath: codingPath)
    }
}

private struct KeyedFields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodedNode
    let codingPath: [any CodingKey]

    func encodeNil(forKey key: Key) { node.child(key.stringValue).content = .value(NSNull()) }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try node.child(key.stringValue).set(value, at: codingPath + [key])
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy keyType: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder(key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder(key).unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder(NameKey.superclass) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

    private func encoder(_ key: any CodingKey) -> NodeEncoder {
        NodeEncoder(node: node.child(key.stringValue), codingPath: codingPath + [key])
    }
}

private struct UnkeyedFields: UnkeyedEncodingContainer {
    let node: EncodedNode
    let codingPath: [any CodingKey]
    var count: Int { node.count }

    func encodeNil() { node.append().content = .value(NSNull()) }

    func encode<T: Encodable>(_ value: T) throws {
        let key = IndexKey(count)
        try node.append().set(value, at: codingPath + [key])
    }

    func nestedContainer<Nested: CodingKey>(keyedBy keyType: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder() }

    private func encoder() -> NodeEncoder {
        let key = IndexKey(count)
        return NodeEncoder(node: node.append(), codingPath: codingPath + [key])
    }
}

private struct SingleField: SingleValueEncodingContainer {
    let node: EncodedNode
    let codingPath: [any CodingKey]

    func encodeNil() { node.content = .value(NSNull()) }

    // A plain value's own `encode(to:)` calls one of these.
    func encode(_ value: Bool) { node.content = .value(value) }
    func encode(_ value: String) { node.content = .value(value) }
    func encode(_ value: Double) { node.content = .value(value) }
    func encode(_ value: Float) { node.content = .value(value) }
    func encode(_ value: Int) { node.content = .value(value) }
    func encode(_ value: Int8) { node.content = .value(value) }
    func encode(_ value: Int16) { node.content = .value(value) }
    func encode(_ value: Int32) { node.content = .value(value) }
    func encode(_ value: Int64) { node.content = .value(value) }
    func encode(_ value: UInt) { node.content = .value(value) }
    func encode(_ value: UInt8) { node.content = .value(value) }
    func encode(_ value: UInt16) { node.content = .value(value) }
    func encode(_ value: UInt32) { node.content = .value(value) }
    func encode(_ value: UInt64) { node.content = .value(value) }

    func encode<T: Encodable>(_ value: T) throws { try node.set(value, at: codingPath) }
}
