import CBOR
import DomainEvents

/// Finds a field of an encoded event without decoding the event.
package enum PayloadField {
    /// The field's value as it is encoded; nil if the event is no map with a count or has no such field.
    package static func value(of name: String, in payload: UnsafeRawBufferPointer) -> [UInt8]? {
        // A payload that is not well-formed has no fields: its receiver reports what is wrong with it.
        try? find(name, in: payload)
    }

    private static func find(_ name: String, in payload: UnsafeRawBufferPointer) throws(CBORError) -> [UInt8]? {
        var reader = CBORReader(payload)
        guard reader.nextMajorType == .map, let count = try reader.readMapHead() else { return nil }
        for _ in 0..<count {
            var isFound = false
            if reader.nextMajorType == .text {
                isFound = try reader.readText().hasBytes(of: name)
            } else {
                try reader.skipItem()
            }
            let start = reader.position
            try reader.skipItem()
            if isFound { return Array(payload[start..<reader.position]) }
        }
        return nil
    }
}
