import DomainEvents

/// The name and the origins of the last record, kept so that the next record can share those that are equal.
package struct RecordTexts {
    private var lastName: String?
    /// The source of the event itself.
    var own: EventSource?
    var cause: EventSource?
    var root: EventSource?

    package init() {}

    /// The text of these bytes.
    mutating func name(_ bytes: UnsafeRawBufferPointer) -> String {
        if let lastName, bytes.hasBytes(of: lastName) { return lastName }
        let made = String(decoding: bytes, as: UTF8.self)
        lastName = made
        return made
    }

    /// The source with these bytes as its origin: the last one, or a new one that then is the last one.
    static func source(
        _ last: inout EventSource?,
        _ origin: UnsafeRawBufferPointer,
        incarnation: UInt64
    ) -> EventSource {
        if let last, last.incarnation == incarnation, origin.hasBytes(of: last.origin) { return last }
        let made = EventSource(origin: String(decoding: origin, as: UTF8.self), incarnation: incarnation)
        last = made
        return made
    }
}

extension UnsafeRawBufferPointer {
    /// Whether both have the same bytes; compares 8 bytes at a time, because it compares the names of all records.
    func hasBytes(of other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var offset = 0
        while count - offset >= 8 {
            if number(at: offset, as: UInt64.self) != other.number(at: offset, as: UInt64.self) { return false }
            offset += 8
        }
        while offset < count {
            if self[offset] != other[offset] { return false }
            offset += 1
        }
        return true
    }

    /// Whether the text has these bytes.
    fileprivate func hasBytes(of text: String) -> Bool {
        // A text that this module has made lies in one piece.
        text.utf8.withContiguousStorageIfAvailable { hasBytes(of: UnsafeRawBufferPointer($0)) } ?? false
    }
}
