/// How the parser says what it found.
extension JSONParser {
    /// A word longer than this is cut in a message.
    private static let longestWord = 32

    mutating func error(_ kind: JSONError.Kind, _ message: String, at offset: Int? = nil) -> JSONError {
        JSONError(kind: kind, location: locator.location(at: offset ?? position), message: message)
    }

    /// What is at the current place, in words.
    func found() -> String {
        guard let byte = current else { return "the end of the text" }
        let word = asciiWord()
        if !word.isEmpty {
            return JSONEscaping.quoted(word)
        }
        switch byte {
        case 0:
            return "a NUL byte"
        case 0x20..<0x7F:
            let isComment = byte == UInt8(ascii: "/") && dialect == .json
            let scalar = JSONEscaping.quoted(String(UnicodeScalar(byte)))
            return isComment ? "\(scalar) (JSON has no comments)" : scalar
        default:
            guard let (scalar, _) = scalar(at: position) else { return "the byte \(Hexadecimal.text(UInt32(byte)))" }
            return found(scalar)
        }
    }

    func found(_ scalar: Unicode.Scalar) -> String {
        let code = "U+" + Hexadecimal.text(scalar.value, digits: 4)
        switch scalar.properties.generalCategory {
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
            return "the character \(code)"
        default:
            return "\(JSONEscaping.quoted(String(scalar))) (\(code))"
        }
    }

    /// The letters, digits, `_` and `$` from the current place on.
    func asciiWord() -> String {
        var end = position
        while end < bytes.count, end - position < Self.longestWord, Self.isWordByte(bytes[end]) {
            end += 1
        }
        return String(decoding: bytes[position..<end], as: UTF8.self)
    }

    static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"):
            true
        default:
            false
        }
    }
}
