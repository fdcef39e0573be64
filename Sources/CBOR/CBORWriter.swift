/// Writes single CBOR items into a buffer, each in its shortest form (RFC 8949 section 4.2.1).
///
/// It keeps no state: that heads and contents match is up to the caller.
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
    package func integer(_ value: Int64) {
        // The complement of a negative number n is -1 - n: no overflow, also not for the smallest.
        if value >= 0 {
            head(.unsigned, UInt64(bitPattern: value))
        } else {
            head(.negative, UInt64(bitPattern: ~value))
        }
    }

    @inlinable
    package func bytes(_ value: UnsafeRawBufferPointer) {
        head(.bytes, UInt64(value.count))
        buffer.append(value)
    }

    @inlinable
    package func bytes(_ value: [UInt8]) {
        value.withUnsafeBytes { bytes($0) }
    }

    @inlinable
    package func text(_ value: String) {
        let written: Void? = value.utf8.withContiguousStorageIfAvailable { text(utf8: UnsafeRawBufferPointer($0)) }
        if written == nil {
            var native = value
            native.withUTF8 { text(utf8: UnsafeRawBufferPointer($0)) }
        }
    }

    /// Writes text whose bytes the caller knows to be UTF-8.
    @inlinable
    package func text(utf8 value: UnsafeRawBufferPointer) {
        let count = value.count
        let end = buffer.reserve(count &+ 9)
        if count < 24, let source = value.baseAddress {
            end.storeBytes(of: 0x60 | UInt8(truncatingIfNeeded: count), as: UInt8.self)
            (end + 1).copyMemory(from: source, byteCount: count)
            buffer.storage.pointee.count &+= count &+ 1
        } else {
            head(.text, UInt64(count))
            buffer.append(value)
        }
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

    /// Writes a simple value; 24 to 31 do not exist in the format and are refused.
    package func simple(_ value: UInt8) throws(CBORError) {
        switch value {
        case 0..<24: buffer.append(0xE0 | value)
        case 24..<32: throw CBORError(.badSimpleValue(value), offset: buffer.count)
        default:
            buffer.append(0xF8)
            buffer.append(value)
        }
    }

    @inlinable
    package func half(bitPattern: UInt16) {
        let end = buffer.reserve(3)
        end.storeBytes(of: 0xF9, as: UInt8.self)
        (end + 1).storeBytes(of: bitPattern.bigEndian, as: UInt16.self)
        buffer.storage.pointee.count &+= 3
    }

    @inlinable
    package func single(bitPattern: UInt32) {
        let end = buffer.reserve(5)
        end.storeBytes(of: 0xFA, as: UInt8.self)
        (end + 1).storeBytes(of: bitPattern.bigEndian, as: UInt32.self)
        buffer.storage.pointee.count &+= 5
    }

    @inlinable
    package func double(bitPattern: UInt64) {
        let end = buffer.reserve(9)
        end.storeBytes(of: 0xFB, as: UInt8.self)
        (end + 1).storeBytes(of: bitPattern.bigEndian, as: UInt64.self)
        buffer.storage.pointee.count &+= 9
    }

    /// Writes the shortest of half, single and double precision that keeps the value, NaN payloads included.
    package func floatingPoint(_ value: Double) {
        switch ShortestFloat(value) {
        case .half(let bits): half(bitPattern: bits)
        case .single(let bits): single(bitPattern: bits)
        case .double(let bits): double(bitPattern: bits)
        }
    }

    @inlinable
    package func head(_ major: CBORMajorType, _ argument: UInt64) {
        let top = major.rawValue << 5
        if argument < 24 {
            buffer.append(top | UInt8(truncatingIfNeeded: argument))
            return
        }
        let end = buffer.reserve(9)
        buffer.storage.pointee.count &+= CBORWriter.storeHead(top, argument, at: end)
    }

    /// Stores a head at an address with room for nine bytes, and returns its length.
    @inlinable
    package static func storeHead(_ top: UInt8, _ argument: UInt64, at target: UnsafeMutableRawPointer) -> Int {
        if argument < 24 {
            target.storeBytes(of: top | UInt8(truncatingIfNeeded: argument), as: UInt8.self)
            return 1
        }
        if argument <= UInt64(UInt8.max) {
            target.storeBytes(of: top | 24, as: UInt8.self)
            target.storeBytes(of: UInt8(truncatingIfNeeded: argument), toByteOffset: 1, as: UInt8.self)
            return 2
        }
        if argument <= UInt64(UInt16.max) {
            target.storeBytes(of: top | 25, as: UInt8.self)
            target.storeBytes(of: UInt16(truncatingIfNeeded: argument).bigEndian, toByteOffset: 1, as: UInt16.self)
            return 3
        }
        if argument <= UInt64(UInt32.max) {
            target.storeBytes(of: top | 26, as: UInt8.self)
            target.storeBytes(of: UInt32(truncatingIfNeeded: argument).bigEndian, toByteOffset: 1, as: UInt32.self)
            return 5
        }
        target.storeBytes(of: top | 27, as: UInt8.self)
        target.storeBytes(of: argument.bigEndian, toByteOffset: 1, as: UInt64.self)
        return 9
    }
}
