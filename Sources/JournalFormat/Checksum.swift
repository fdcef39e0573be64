import CBridgePlatform

/// CRC-32C, computed by the processor's own instruction if it has one.
package enum Checksum {
    /// The checksum of earlier bytes (`before`, 0 if there are none), continued over these bytes.
    package static func crc32c(_ bytes: UnsafeRawBufferPointer, after before: UInt32 = 0) -> UInt32 {
        cbp_crc32c(before, bytes.baseAddress, bytes.count)
    }

    /// The checksum of ``crc32c(_:after:)``, computed without the instruction.
    package static func crc32cByTable(_ bytes: UnsafeRawBufferPointer, after before: UInt32 = 0) -> UInt32 {
        cbp_crc32c_by_table(before, bytes.baseAddress, bytes.count)
    }

    /// The checksum of two numbers, lowest byte first as in the files, and of the bytes that follow them.
    static func crc32c(
        of first: UInt64,
        _ second: UInt64,
        _ bytes: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        after before: UInt32 = 0
    ) -> UInt32 {
        cbp_crc32c_numbered(before, first, second, bytes.baseAddress, bytes.count)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all bytes are zero; compares 8 bytes at a time, because it also checks whole segments.
    package var isZero: Bool {
        var offset = 0
        while count - offset >= 8 {
            if number(at: offset, as: UInt64.self) != 0 { return false }
            offset += 8
        }
        return self[offset...].allSatisfy { $0 == 0 }
    }

    /// The number at `offset`, lowest byte first; the caller has checked that the bytes are there.
    func number<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type = Number.self) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}

extension UnsafeMutableRawBufferPointer {
    func store<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
    }
}
