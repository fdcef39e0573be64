/// What may stand between tokens: white space, and comments in JSON5.
extension JSONParser {
    mutating func skipTrivia() throws(JSONError) {
        while let byte = current {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                position += 1
            default:
                guard dialect == .json5, try skipExtendedTrivia(byte) else { return }
            }
        }
    }

    private mutating func skipExtendedTrivia(_ byte: UInt8) throws(JSONError) -> Bool {
        switch byte {
        case 0x0B, 0x0C:
            position += 1
            return true
        case UInt8(ascii: "/"):
            try skipComment()
            return true
        case 0x80...:
            guard let (scalar, length) = scalar(at: position), Self.isExtendedSpace(scalar) else { return false }
            position += length
            return true
        default:
            return false
        }
    }

    private mutating func skipComment() throws(JSONError) {
        let start = position
        switch byte(at: position + 1) {
        case UInt8(ascii: "/"):
            while let byte = current, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
                if byte == 0xE2, isLineSeparator(at: position) { return }
                position += 1
            }
        case UInt8(ascii: "*"):
            position += 2
            while !(current == UInt8(ascii: "*") && byte(at: position + 1) == UInt8(ascii: "/")) {
                guard !isAtEnd else {
                    let opened = locator.location(at: start)
                    throw error(.endOfText, "found the end of the text in the comment that begins at \(opened)")
                }
                position += 1
            }
            position += 2
        default:
            throw error(.unexpectedCharacter, "found \"/\", expected a comment (\"//\" or \"/*\") or a value")
        }
    }

    /// U+2028 and U+2029 end a line in JSON5.
    func isLineSeparator(at offset: Int) -> Bool {
        byte(at: offset) == 0xE2 && byte(at: offset + 1) == 0x80
            && (byte(at: offset + 2) == 0xA8 || byte(at: offset + 2) == 0xA9)
    }

    private static func isExtendedSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0xFEFF, 0x2028, 0x2029: true
        default: scalar.properties.generalCategory == .spaceSeparator
        }
    }
}
