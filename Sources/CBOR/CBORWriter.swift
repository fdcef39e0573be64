/// Writes single CBOR items into a buffer, each in its shortest form (RFC 8949 section 4.2.1).
///
/// It keeps no state: the caller makes sure that heads and contents match.
package struct CBORWriter {
    package let buffer: CBORBuffer

    @inlinable
    package init(_ buffer: CBORBuffer) {
        self.buffer = buffer
    }

    @inlinable
    package func unsigned(_ value: UInt64) {
        head(.unsigned, value)
    }

    /// Writes -1 - `value`.
    @inlinable
    package func negative(_ value: UInt64) {
        head(.negative, value)
    }

    @inlinable
    package func bytes(_ value: UnsafeRawBufferPointer) {
        buffer.storage.pointee.bytes(value)
    }

    @inlinable
    package func bytes(_ value: [UInt8]) {
        value.withUnsafeBytes { bytes($0) }
    }

    @inlinable
    package func text(_ value: String) {
        buffer.storage.pointee.text(value)
    }

    @inlinable
    package func arrayHead(_ count: Int) {
        head(.array, UInt64(count))
    }

    @inlinable
    package func mapHead(_ count: Int) {
        head(.map, UInt64(count))
    }

    @inlinable
    package func tag(_ tag: UInt64) {
        head(.tag, tag)
    }

    @inlinable
    package func bool(_ value: Bool) {
        buffer.append(value ? 0xF5 : 0xF4)
    }

    @inlinable
    package func null() {
        buffer.append(0xF6)
    }

    @inlinable
    package func undefined() {
        buffer.append(0xF7)
    }

    /// Writes a simple value; refuses 24 to 31, which do not exist in the format.
    package func simple(_ value: UInt8) throws(CBORError) {
        switch value {
        case 0..<24: buffer.append(0xE0 | value)
        case 24..<32: throw CBORError(.badSimpleValue(value), offset: buffer.count)
        default:
            buffer.append(0xF8)
            buffer.append(value)
        }
    }

    package func floatingPoint(_ value: Double) {
        buffer.storage.pointee.floatingPoint(value)
    }

    @inlinable
    package func head(_ major: CBORMajorType, _ argument: UInt64) {
        buffer.storage.pointee.head(major.rawValue << 5, argument)
    }

    /// Stores a head at an address with room for nine bytes, and returns its length.
    @inlinable
    package static func storeHead(_ top: UInt8, _ argument: UInt64, at target: UnsafeMutableRawPointer) -> Int {
        if argument < 24 {
            target.storeBytes(of: top | UInt8(truncatingIfNeeded: argument), as: UInt8.self)
            return 1
        }
        return CBORBuffer.Storage.storeLongHead(top, argument, at: target)
    }
}
