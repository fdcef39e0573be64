/// Writing items to the memory of a buffer, for `CBORBuffer`, `CBORWriter` and the encoder.
extension CBORBuffer.Storage {
    /// Makes room for `size` more bytes and returns where they go.
    @inlinable
    @inline(__always)
    package mutating func reserve(_ size: Int) -> UnsafeMutableRawPointer {
        if capacity &- count < size { grow(by: size) }
        return bytes + count
    }

    @inline(never)
    package mutating func grow(by size: Int) {
        let needed = count + size
        let larger = max(needed, capacity * 2)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        moved.copyMemory(from: bytes, byteCount: count)
        bytes.deallocate()
        bytes = moved
        capacity = larger
    }

    /// Moves everything from `offset` on by `gap` bytes to make room for a longer head.
    private mutating func insertGap(_ gap: Int, at offset: Int) {
        precondition(gap >= 0 && offset >= 0 && offset <= count)
        _ = reserve(gap)
        let target = bytes + offset
        (target + gap).copyMemory(from: target, byteCount: count - offset)
        count += gap
    }

    /// Fills in the head of an array or map, where one byte is reserved; returns by how many bytes the content moved.
    @discardableResult
    @inline(__always)
    mutating func patchHead(_ major: CBORMajorType, _ entries: Int, at head: Int) -> Int {
        precondition(head >= 0 && head < count)
        guard entries < 24 else { return patchLongHead(major, entries, at: head) }
        let byte = major.rawValue << 5 | UInt8(truncatingIfNeeded: entries)
        bytes.storeBytes(of: byte, toByteOffset: head, as: UInt8.self)
        return 0
    }

    @inline(never)
    private mutating func patchLongHead(_ major: CBORMajorType, _ entries: Int, at head: Int) -> Int {
        let argument = UInt64(entries)
        let gap = argument <= 0xFF ? 1 : argument <= 0xFFFF ? 2 : argument <= 0xFFFF_FFFF ? 4 : 8
        insertGap(gap, at: head + 1)
        _ = CBORBuffer.Storage.storeLongHead(major.rawValue << 5, argument, at: bytes + head)
        return gap
    }

    @inlinable
    package mutating func append(_ byte: UInt8) {
        reserve(1).storeBytes(of: byte, as: UInt8.self)
        count &+= 1
    }

    @inlinable
    package mutating func append(_ content: UnsafeRawBufferPointer) {
        guard let source = content.baseAddress, !content.isEmpty else { return }
        reserve(content.count).copyMemory(from: source, byteCount: content.count)
        count &+= content.count
    }

    /// Writes a head; the three high bits of `top` are the major type.
    @inlinable
    @inline(__always)
    package mutating func head(_ top: UInt8, _ argument: UInt64) {
        let end = reserve(9)
        count &+= CBORWriter.storeHead(top, argument, at: end)
    }

    @inlinable
    @inline(__always)
    package mutating func integer(_ value: Int64) {
        let end = reserve(9)
        count &+= Self.storeInteger(value, at: end)
    }

    /// Stores an integer at an address with room for nine bytes, and returns its length.
    @inlinable
    @inline(__always)
    package static func storeInteger(_ value: Int64, at target: UnsafeMutableRawPointer) -> Int {
        // The complement of a negative number n is -1 - n, which does not overflow, even for the smallest n.
        let sign = value >> 63
        let top = UInt8(truncatingIfNeeded: sign) & 0x20
        return CBORWriter.storeHead(top, UInt64(bitPattern: value ^ sign), at: target)
    }

    /// Stores a head with an argument of 24 or more at an address with room for nine bytes, and returns its length.
    @inlinable
    package static func storeLongHead(_ top: UInt8, _ argument: UInt64, at target: UnsafeMutableRawPointer) -> Int {
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

    @inlinable
    package mutating func tag(_ tag: UInt64) {
        head(0xC0, tag)
    }

    @inlinable
    package mutating func bytes(_ content: UnsafeRawBufferPointer) {
        head(0x40, UInt64(content.count))
        append(content)
    }

    @inlinable
    @inline(__always)
    package mutating func text(_ value: String) {
        let written: Void? = value.utf8.withContiguousStorageIfAvailable { text(utf8: UnsafeRawBufferPointer($0)) }
        if written == nil { foreignText(value) }
    }

    /// Writes the text at an address.
    @inline(__always)
    package mutating func text(at address: UnsafePointer<String>) {
        let written: Void? = Self.withUTF8(of: address) { text(utf8: $0) }
        if written == nil { text(address.pointee) }
    }

    /// Stores a text of fewer than 24 bytes at an address with room for as many, and returns its length with the head;
    /// nil, with nothing stored, for any other text.
    @inline(__always)
    package static func storeShort(_ address: UnsafePointer<String>, at target: UnsafeMutableRawPointer) -> Int? {
        let size: Int? = withUTF8(of: address) { text in
            guard text.count < 24 else { return 0 }
            target.storeBytes(of: 0x60 | UInt8(truncatingIfNeeded: text.count), as: UInt8.self)
            if let source = text.baseAddress { copyShort(source, text.count, to: target + 1) }
            return text.count &+ 1
        }
        return size == 0 ? nil : size
    }

    /// Passes on the bytes of the text at an address; nil if the text is one that Swift does not store itself.
    @inline(__always)
    private static func withUTF8<R>(of address: UnsafePointer<String>, _ body: (UnsafeRawBufferPointer) -> R) -> R? {
        guard address.pointee.isContiguousUTF8 else { return nil }
        return withUnsafeTemporaryAllocation(of: String.self, capacity: 1) { place -> R? in
            guard let lent = place.baseAddress else { return nil }
            // `withUTF8` is mutating, and other threads may read the event, so it works on a bitwise copy. Unlike
            // `utf8`, this counts no reference: the event keeps the text alive, and `lent` is never destroyed.
            UnsafeMutableRawPointer(lent).copyMemory(from: address, byteCount: MemoryLayout<String>.size)
            return lent.pointee.withUTF8 { body(UnsafeRawBufferPointer($0)) }
        }
    }

    /// Writes text that Swift does not store itself, such as a bridged `NSString`.
    @inline(never)
    package mutating func foreignText(_ value: String) {
        var native = value
        native.withUTF8 { text(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Writes text whose bytes the caller knows to be UTF-8.
    @inlinable
    @inline(__always)
    package mutating func text(utf8 value: UnsafeRawBufferPointer) {
        let size = value.count
        let end = reserve(size &+ 9)
        if size < 24 {
            end.storeBytes(of: 0x60 | UInt8(truncatingIfNeeded: size), as: UInt8.self)
            if let source = value.baseAddress { CBORBuffer.Storage.copyShort(source, size, to: end + 1) }
            count &+= size &+ 1
        } else {
            longText(utf8: value)
        }
    }

    @inline(never)
    package mutating func longText(utf8 value: UnsafeRawBufferPointer) {
        head(0x60, UInt64(value.count))
        append(value)
    }

    /// Copies fewer than 32 bytes, by words that may overlap: that is quicker than a call.
    @inlinable
    @inline(__always)
    package static func copyShort(_ source: UnsafeRawPointer, _ size: Int, to target: UnsafeMutableRawPointer) {
        if size >= 8 {
            if size > 16 {
                copyWord(source, to: target, at: 8, as: UInt64.self)
                copyWord(source, to: target, at: size &- 16, as: UInt64.self)
            }
            copyWord(source, to: target, at: 0, as: UInt64.self)
            copyWord(source, to: target, at: size &- 8, as: UInt64.self)
        } else if size >= 4 {
            copyWord(source, to: target, at: 0, as: UInt32.self)
            copyWord(source, to: target, at: size &- 4, as: UInt32.self)
        } else if size > 0 {
            copyWord(source, to: target, at: 0, as: UInt8.self)
            copyWord(source, to: target, at: size >> 1, as: UInt8.self)
            copyWord(source, to: target, at: size &- 1, as: UInt8.self)
        }
    }

    @inlinable
    @inline(__always)
    package static func copyWord<Word: FixedWidthInteger & BitwiseCopyable>(
        _ source: UnsafeRawPointer,
        to target: UnsafeMutableRawPointer,
        at offset: Int,
        as type: Word.Type
    ) {
        target.storeBytes(of: source.loadUnaligned(fromByteOffset: offset, as: type), toByteOffset: offset, as: type)
    }

    /// Writes the shortest of half, single and double precision that keeps the value, NaN payloads included.
    package mutating func floatingPoint(_ value: Double) {
        let end = reserve(9)
        switch ShortestFloat(value) {
        case .half(let bits):
            end.storeBytes(of: 0xF9, as: UInt8.self)
            end.storeBytes(of: bits.bigEndian, toByteOffset: 1, as: UInt16.self)
            count &+= 3
        case .single(let bits):
            end.storeBytes(of: 0xFA, as: UInt8.self)
            end.storeBytes(of: bits.bigEndian, toByteOffset: 1, as: UInt32.self)
            count &+= 5
        case .double(let bits):
            end.storeBytes(of: 0xFB, as: UInt8.self)
            end.storeBytes(of: bits.bigEndian, toByteOffset: 1, as: UInt64.self)
            count &+= 9
        }
    }
}
