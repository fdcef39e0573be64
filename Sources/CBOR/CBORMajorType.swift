/// The kind of an item: the three highest bits of the item's first byte.
package enum CBORMajorType: UInt8, Sendable {
    case unsigned = 0
    case negative = 1
    case bytes = 2
    case text = 3
    case array = 4
    case map = 5
    case tag = 6
    case simpleOrFloat = 7

    @inlinable
    @inline(__always)
    package init(initialByte: UInt8) {
        switch initialByte >> 5 {
        case 0: self = .unsigned
        case 1: self = .negative
        case 2: self = .bytes
        case 3: self = .text
        case 4: self = .array
        case 5: self = .map
        case 6: self = .tag
        default: self = .simpleOrFloat
        }
    }
}

/// The tags that this module reads or writes itself (RFC 8949 section 3.4 and the IANA registry).
package enum CBORTag {
    package static let dateText: UInt64 = 0
    package static let epochTime: UInt64 = 1
    package static let unsignedBignum: UInt64 = 2
    package static let negativeBignum: UInt64 = 3
    package static let decimalFraction: UInt64 = 4
    package static let uri: UInt64 = 32
    package static let uuid: UInt64 = 37
    package static let extendedTime: UInt64 = 1001
    package static let selfDescribed: UInt64 = 55799
}
