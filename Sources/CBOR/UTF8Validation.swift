/// Finds the first byte at which text stops being UTF-8 (Unicode 15, table 3-7); nil if all of it is UTF-8.
///
/// The standard library's validating initializers make a string, and do not say where the mistake is. A skipped field
/// needs no string, and an error needs the place.
@usableFromInline
package func firstInvalidUTF8(in bytes: UnsafeRawBufferPointer) -> Int? {
    let count = bytes.count
    var index = 0
    while index < count {
        while count &- index >= 32, isASCII(in: bytes, at: index, words: 4) { index &+= 32 }
        while count &- index >= 8, isASCII(in: bytes, at: index, words: 1) { index &+= 8 }
        guard index < count else { return nil }
        let lead = bytes[index]
        if lead < 0x80 {
            index &+= 1
            continue
        }
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return index
        }
        guard count &- index >= length, second.contains(bytes[index &+ 1]) else { return index }
        for following in 2..<max(length, 2) where bytes[index &+ following] & 0xC0 != 0x80 { return index }
        index &+= length
    }
    return nil
}

/// Whether `words` words of eight bytes, from `index` on, have only ASCII characters.
@inline(__always)
private func isASCII(in bytes: UnsafeRawBufferPointer, at index: Int, words: Int) -> Bool {
    var all: UInt64 = 0
    for word in 0..<words { all |= bytes.loadUnaligned(fromByteOffset: index &+ word &* 8, as: UInt64.self) }
    return all & 0x8080_8080_8080_8080 == 0
}
