import CBOR

/// Checks once, before anything else, that the text is UTF-8, so that no later step meets a broken scalar.
extension JSONParser {
    mutating func checkEncoding() throws(JSONError) {
        try checkByteOrder()
        guard let broken = bytes.withUnsafeBytes(firstInvalidUTF8(in:)) else { return }
        let byte = Hexadecimal.text(UInt32(bytes[broken]), digits: 2)
        throw error(
            .invalidUTF8,
            "found the byte 0x\(byte), which is not UTF-8 here; expected text in UTF-8",
            at: broken
        )
    }

    private mutating func checkByteOrder() throws(JSONError) {
        let first = byte(at: 0)
        let second = byte(at: 1)
        switch (first, second, byte(at: 2)) {
        case (0xEF, 0xBB, 0xBF):
            throw error(.byteOrderMark, "found a byte order mark; expected UTF-8 text without one", at: 0)
        case (0xFE, 0xFF, _), (0xFF, 0xFE, _):
            throw error(.wrongEncoding, "found the byte order mark of UTF-16 or UTF-32; expected text in UTF-8", at: 0)
        default:
            break
        }
        // No JSON text begins with NUL or has NUL as its second byte. In UTF-16 and UTF-32 the first character, which
        // is ASCII, has a NUL beside it.
        if bytes.count >= 2, (first == 0) != (second == 0) || (first == 0 && second == 0 && bytes.count >= 4) {
            throw error(
                .wrongEncoding,
                "found a NUL byte, which looks like UTF-16 or UTF-32; expected text in UTF-8",
                at: first == 0 ? 0 : 1
            )
        }
    }

    /// The scalar that begins at an offset and its length in bytes; nil if no well-formed scalar begins there.
    func scalar(at offset: Int) -> (Unicode.Scalar, length: Int)? {
        guard let lead = byte(at: offset) else { return nil }
        let length = max((~lead).leadingZeroBitCount, 1)
        let text = String(validating: bytes[offset...].prefix(length), as: UTF8.self)
        return text?.unicodeScalars.first.map { ($0, length) }
    }
}
