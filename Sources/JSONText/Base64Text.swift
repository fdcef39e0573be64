/// Bytes as base64 text (RFC 4648, with padding).
enum Base64Text {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// How many characters `count` bytes become, with the padding.
    static func byteCount(of count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Appends the text in quotation marks.
    static func append(_ bytes: [UInt8], to output: inout [UInt8]) {
        output.reserveCapacity(output.count + byteCount(of: bytes.count) + 2)
        output.append(UInt8(ascii: "\""))
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let second = left > 1 ? bytes[index + 1] : 0
            let third = left > 2 ? bytes[index + 2] : 0
            let group = UInt32(bytes[index]) << 16 | UInt32(second) << 8 | UInt32(third)
            output.append(alphabet[Int(group >> 18 & 0x3F)])
            output.append(alphabet[Int(group >> 12 & 0x3F)])
            output.append(left > 1 ? alphabet[Int(group >> 6 & 0x3F)] : UInt8(ascii: "="))
            output.append(left > 2 ? alphabet[Int(group & 0x3F)] : UInt8(ascii: "="))
            index += 3
        }
        output.append(UInt8(ascii: "\""))
    }
}
