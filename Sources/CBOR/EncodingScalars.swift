/// Writing plain values with their keys.
///
/// These functions are not generic over the key type of the container that calls them, so they are compiled only once.
extension EncodingSession {
    func encodeNil(_ key: String, in level: EncodingLevel) throws(CBORError) {
        try beginEntry(key, of: level)
        output.pointee.append(0xF6)
    }

    func encode(_ value: Bool, _ key: String, in level: EncodingLevel) throws(CBORError) {
        try beginEntry(key, of: level)
        output.pointee.append(value ? 0xF5 : 0xF4)
    }

    func encode(_ value: String, _ key: String, in level: EncodingLevel) throws(CBORError) {
        try beginEntry(key, of: level)
        output.pointee.text(value)
    }

    func encode(_ value: Double, _ key: String, in level: EncodingLevel) throws(CBORError) {
        try beginEntry(key, of: level)
        output.pointee.floatingPoint(value)
    }

    func encode(_ value: Int64, _ key: String, in level: EncodingLevel) throws(CBORError) {
        try beginEntry(key, of: level)
        output.pointee.integer(value)
    }

    func encode(_ value: UInt64, _ key: String, in level: EncodingLevel) throws(CBORError) {
        try beginEntry(key, of: level)
        output.pointee.head(0, value)
    }
}

/// Writing plain values without keys: the elements of arrays, and values that stand alone.
extension EncodingSession {
    /// Where a value without a key goes: into an array as an element, or alone.
    enum Position {
        case element
        case single
    }

    @inline(__always)
    private func begin(_ position: Position, in level: EncodingLevel) throws(CBORError) {
        switch position {
        case .element: try beginElement(of: level)
        case .single: try open(level, as: .single)
        }
    }

    func encodeNil(_ position: Position, in level: EncodingLevel) throws(CBORError) {
        try begin(position, in: level)
        output.pointee.append(0xF6)
    }

    func encode(_ value: Bool, _ position: Position, in level: EncodingLevel) throws(CBORError) {
        try begin(position, in: level)
        output.pointee.append(value ? 0xF5 : 0xF4)
    }

    func encode(_ value: String, _ position: Position, in level: EncodingLevel) throws(CBORError) {
        try begin(position, in: level)
        output.pointee.text(value)
    }

    func encode(_ value: Double, _ position: Position, in level: EncodingLevel) throws(CBORError) {
        try begin(position, in: level)
        output.pointee.floatingPoint(value)
    }

    func encode(_ value: Int64, _ position: Position, in level: EncodingLevel) throws(CBORError) {
        try begin(position, in: level)
        output.pointee.integer(value)
    }

    func encode(_ value: UInt64, _ position: Position, in level: EncodingLevel) throws(CBORError) {
        try begin(position, in: level)
        output.pointee.head(0, value)
    }
}
