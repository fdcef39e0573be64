/// Any CBOR item as a tree: to show, translate and test items whose Swift type this process does not have.
///
/// Two values are equal when they are the same item. Maps are equal only with the same order, and floating-point
/// numbers only with the same bits: NaN equals the same NaN, and zero differs from negative zero.
package enum CBORValue: Sendable {
    case unsigned(UInt64)
    /// The value is -1 minus the number.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    case map([Entry])
    indirect case tagged(UInt64, CBORValue)
    case simple(UInt8)
    case bool(Bool)
    case null
    case undefined
    case double(Double)

    package struct Entry: Sendable, Hashable {
        package var key: CBORValue
        package var value: CBORValue

        package init(key: CBORValue, value: CBORValue) {
            self.key = key
            self.value = value
        }
    }

    /// The value of a text key in a map; nil if there is no such key or the item is not a map.
    package subscript(key: String) -> CBORValue? {
        guard case .map(let entries) = self else { return nil }
        return entries.first { $0.key == .text(key) }?.value
    }
}

extension CBORValue: Hashable {
    package static func == (left: CBORValue, right: CBORValue) -> Bool {
        switch (left, right) {
        case (.unsigned(let one), .unsigned(let other)): one == other
        case (.negative(let one), .negative(let other)): one == other
        case (.bytes(let one), .bytes(let other)): one == other
        // `==` of `String` would take canonically equivalent texts as equal.
        case (.text(let one), .text(let other)): one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)): one == other
        case (.map(let one), .map(let other)): one == other
        case (.tagged(let tag, let one), .tagged(let otherTag, let other)): tag == otherTag && one == other
        case (.simple(let one), .simple(let other)): one == other
        case (.bool(let one), .bool(let other)): one == other
        case (.null, .null), (.undefined, .undefined): true
        case (.double(let one), .double(let other)): one.bitPattern == other.bitPattern
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .unsigned(let value), .negative(let value): hasher.combine(value)
        case .bytes(let value): hasher.combine(value)
        case .text(let value):
            for byte in value.utf8 { hasher.combine(byte) }
        case .array(let elements): hasher.combine(elements)
        case .map(let entries): hasher.combine(entries)
        case .tagged(let tag, let content):
            hasher.combine(tag)
            hasher.combine(content)
        case .simple(let value): hasher.combine(value)
        case .bool(let value): hasher.combine(value)
        case .null: hasher.combine(22)
        case .undefined: hasher.combine(23)
        case .double(let value): hasher.combine(value.bitPattern)
        }
    }
}
