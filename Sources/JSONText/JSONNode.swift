package import CBOR

/// A value that was read from a JSON text, with its place in the text.
package struct JSONNode: Sendable, Hashable {
    /// Integers are exact in CBOR's whole range, -2^64 to 2^64 - 1; only what was written with a fraction or an
    /// exponent is a `number`.
    package enum Value: Sendable, Hashable {
        case null
        case bool(Bool)
        case unsigned(UInt64)
        /// The integer is -1 - n, as in CBOR.
        case negative(UInt64)
        case number(Double)
        case string(String)
        case array([JSONNode])
        /// The members in the order of the text; no key comes twice.
        case object([Member])
    }

    /// One key of an object and its value.
    package struct Member: Sendable, Hashable {
        package let key: String
        package let keyLocation: JSONLocation
        package let node: JSONNode
    }

    package let value: Value
    package let location: JSONLocation

    /// The value of a key, if this is an object that has the key.
    package subscript(key: String) -> JSONNode? {
        guard case .object(let members) = value else { return nil }
        return members.first { $0.key == key }?.node
    }

    /// The same value as CBOR: integers to the last bit, numbers as doubles, objects as maps with text keys.
    package var cborValue: CBORValue {
        switch value {
        case .null: .null
        case .bool(let bool): .bool(bool)
        case .unsigned(let number): .unsigned(number)
        case .negative(let number): .negative(number)
        case .number(let number): .double(number)
        case .string(let text): .text(text)
        case .array(let elements): .array(elements.map(\.cborValue))
        case .object(let members): .map(members.map { .init(key: .text($0.key), value: $0.node.cborValue) })
        }
    }
}
