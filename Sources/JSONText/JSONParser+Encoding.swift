/// The check that the text is UTF-8, done once before anything else, so that nothing after it meets a broken scalar.
extension JSONParser {
    mutating func checkEncoding() throws(JSONError) {
        try checkByteOrder()
        guard let broken = firstInvalidByte() else { return }
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
        // No JSON text begins with NUL or has one in second place, whereas the first character, which is ASCII, has one
        // beside it in UTF-16 and UTF-32.
        if bytes.count >= 2, (first == 0) != (second == 0) || (first == 0 && second == 0 && bytes.count >= 4) {
            throw error(
                .wrongEncoding,
                "found a NUL byte, which looks like UTF-16 or UTF-32; expected text in UTF-8",
                at: first == 0 ? 0 : 1
            )
        }
    }

    private func firstInvalidByte() -> Int? {
        var offset = 0
        while offset < bytes.count {
            if bytes[offset] < 0x80 {
                offset += 1
            } else if let (_, length) = scalar(at: offset) {
                offset += length
            } else {
                return offset
            }
        }
        return nil
    }

    /// The scalar that begins at an offset and its length in bytes; nil if there is no well-formed one (Unicode table 3-7).
    func scalar(at offset: Int) -> (Unicode.Scalar, length: Int)? {
        guard let lead = byte(at: offset) else { return nil }
        let length: Int
        var value: UInt32
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0x00...0x7F:
            return (Unicode.Scalar(lead), 1)
        case 0xC2...0xDF:
            (length, value) = (2, UInt32(lead & 0x1F))
        case 0xE0...0xEF:
            (length, value) = (3, UInt32(lead & 0x0F))
            if lead == 0xE0 { second = 0xA0...0xBF }
            if lead == 0xED { second = 0x80...0x9F }
        case 0xF0...0xF4:
            (length, value) = (4, UInt32(lead & 0x07))
            if lead == 0xF0 { second = 0x90...0xBF }
            if lead == 0xF4 { second = 0x80...0x8F }
        default:
            return nil
        }
        for index in 1..<length {
            guard let byte = byte(at: offset + index) else { return nil }
            guard (index == 1 ? second : 0x80...0xBF).contains(byte) else { return nil }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        return Unicode.Scalar(value).map { ($0, length) }
    }
}
