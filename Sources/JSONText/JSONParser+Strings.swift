/// Strings with their escapes, and JSON5's bare keys.
extension JSONParser {
    /// Reads the string that begins with the quote at the current place.
    mutating func readString() throws(JSONError) -> String {
        let start = position
        guard let quote = current else {
            throw error(.endOfText, "found the end of the text, expected a string")
        }
        position += 1
        var runStart = position
        var unescaped: [UInt8] = []
        while let byte = current {
            switch byte {
            case quote:
                let run = bytes[runStart..<position]
                position += 1
                if unescaped.isEmpty {
                    return String(decoding: run, as: UTF8.self)
                }
                unescaped += run
                return String(decoding: unescaped, as: UTF8.self)
            case UInt8(ascii: "\\"):
                unescaped += bytes[runStart..<position]
                try readEscape(into: &unescaped)
                runStart = position
            case 0..<0x20 where !(byte == UInt8(ascii: "\t") && dialect == .json5):
                throw controlCharacterError(byte, in: start)
            default:
                position += 1
            }
        }
        let opened = locator.location(at: start)
        throw error(.endOfText, "found the end of the text in the string that begins at \(opened)")
    }

    private mutating func controlCharacterError(_ byte: UInt8, in start: Int) -> JSONError {
        let opened = locator.location(at: start)
        let name =
            switch byte {
            case 0: "a NUL byte"
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): "the end of the line"
            default: "the control character U+\(Hexadecimal.text(UInt32(byte), digits: 4))"
            }
        return error(
            .controlCharacter,
            "found \(name) in the string that begins at \(opened), expected an escape (such as \\n) or the closing quote"
        )
    }

    private mutating func readEscape(into unescaped: inout [UInt8]) throws(JSONError) {
        let start = position
        guard let byte = byte(at: start + 1) else {
            position = bytes.count
            throw error(.endOfText, "found the end of the text after \"\\\", expected the rest of an escape")
        }
        position += 2
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(byte)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"): unescaped += Array(String(try readUnicodeEscape(from: start)).utf8)
        default:
            guard dialect == .json5 else {
                throw invalidEscape(at: start)
            }
            try readExtendedEscape(byte, from: start, into: &unescaped)
        }
    }

    private mutating func readExtendedEscape(
        _ byte: UInt8,
        from start: Int,
        into unescaped: inout [UInt8]
    ) throws(JSONError) {
        switch byte {
        case UInt8(ascii: "v"):
            unescaped.append(0x0B)
        case UInt8(ascii: "x"):
            let value = try readHexadecimal(digits: 2, from: start)
            unescaped += Array(String(Unicode.Scalar(UInt8(truncatingIfNeeded: value))).utf8)
        case UInt8(ascii: "0"):
            if let next = current, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) {
                throw invalidEscape(at: start)
            }
            unescaped.append(0)
        case UInt8(ascii: "1")...UInt8(ascii: "9"):
            throw invalidEscape(at: start)
        case UInt8(ascii: "\r"):
            if current == UInt8(ascii: "\n") {
                position += 1
            }
        case UInt8(ascii: "\n"):
            break
        case 0..<0x20:
            position = start + 1
            throw error(.controlCharacter, "found \(found()) after \"\\\", expected the rest of an escape")
        default:
            if isLineSeparator(at: start + 1) {
                position = start + 4
            } else {
                // Any other character stands for itself. This is its first byte; the next run has the others.
                unescaped.append(byte)
            }
        }
    }

    private mutating func invalidEscape(at start: Int) -> JSONError {
        position = start + 1
        let found =
            if let (scalar, _) = scalar(at: position), scalar.isASCII, scalar.value >= 0x20, scalar.value < 0x7F {
                "the escape \"\\\(scalar)\""
            } else {
                "\(found()) after \"\\\""
            }
        return error(
            .invalidEscape,
            "found \(found), expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u and four digits",
            at: start
        )
    }

    /// Reads what follows `\u`: four digits and, if they are the first half of a surrogate pair, the second half.
    private mutating func readUnicodeEscape(from start: Int) throws(JSONError) -> Unicode.Scalar {
        let first = try readHexadecimal(digits: 4, from: start)
        if let scalar = Unicode.Scalar(first) {
            return scalar
        }
        let isHigh = (0xD800...0xDBFF).contains(first)
        if isHigh, current == UInt8(ascii: "\\"), byte(at: position + 1) == UInt8(ascii: "u") {
            let secondStart = position
            position += 2
            let second = try readHexadecimal(digits: 4, from: secondStart)
            if (0xDC00...0xDFFF).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            {
                return scalar
            }
        }
        let code = Hexadecimal.text(first, digits: 4)
        let expected = isHigh ? "expected the low half \\uDC00 to \\uDFFF after it" : "expected a high half before it"
        throw error(.loneSurrogate, "found the lone surrogate \\u\(code), \(expected)", at: start)
    }

    private mutating func readHexadecimal(digits: Int, from start: Int) throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let byte = current else {
                throw error(
                    .endOfText,
                    "found the end of the text, expected \(digits) hexadecimal digits in the escape"
                )
            }
            guard let digit = Hexadecimal.digit(byte) else {
                throw error(
                    .invalidEscape,
                    "found an escape without its \(digits) hexadecimal digits, expected one such as "
                        + (digits == 4 ? "\\u00e9" : "\\xe9"),
                    at: start
                )
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    /// A bare key of JSON5: an ECMAScript identifier name.
    mutating func readIdentifier() throws(JSONError) -> String {
        var name = String.UnicodeScalarView()
        while let byte = current {
            let start = position
            if byte == UInt8(ascii: "\\") {
                guard self.byte(at: position + 1) == UInt8(ascii: "u") else { throw invalidEscape(at: start) }
                position += 2
                let scalar = try readUnicodeEscape(from: start)
                guard Self.isIdentifier(scalar, isFirst: name.isEmpty) else {
                    throw error(
                        .invalidEscape,
                        "found an escape for \(found(scalar)), expected a letter in a bare key",
                        at: start
                    )
                }
                name.append(scalar)
                continue
            }
            guard let (scalar, length) = scalar(at: position), Self.isIdentifier(scalar, isFirst: name.isEmpty) else {
                break
            }
            name.append(scalar)
            position += length
        }
        guard !name.isEmpty else {
            throw error(isAtEnd ? .endOfText : .unexpectedCharacter, "found \(found()), expected a key")
        }
        return String(name)
    }

    private static func isIdentifier(_ scalar: Unicode.Scalar, isFirst: Bool) -> Bool {
        switch scalar {
        case "$", "_": true
        case "\u{200C}", "\u{200D}": !isFirst
        default: isFirst ? scalar.properties.isIDStart : scalar.properties.isIDContinue
        }
    }
}
