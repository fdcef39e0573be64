/// Writes text as JSON strings.
///
/// DEL and the C1 controls are escaped as well, beyond what JSON demands, because terminals show the text and obey some
/// of these controls.
package enum JSONEscaping {
    /// The text as a JSON string, with its quotes.
    package static func quoted(_ text: String) -> String {
        var output: [UInt8] = []
        append(text, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends the text as a JSON string, with its quotes.
    package static func append(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { bytes in
            var runStart = 0
            for index in bytes.indices {
                let byte = bytes[index]
                switch byte {
                case 0x20, 0x21, 0x23...0x5B, 0x5D...0x7E, 0xA0...:
                    continue
                case 0x80...0x9F:
                    // After 0xC2 the byte makes one of U+0080 to U+009F; otherwise it is part of another scalar.
                    guard index > 0, bytes[index - 1] == 0xC2 else { continue }
                    output += bytes[runStart..<index - 1]
                    appendEscape(of: byte, to: &output)
                default:
                    output += bytes[runStart..<index]
                    appendEscape(of: byte, to: &output)
                }
                runStart = index + 1
            }
            output += bytes[runStart...]
        }
        output.append(UInt8(ascii: "\""))
    }

    /// How many bytes ``append(_:to:)`` makes of the text, its quotes included.
    static func byteCount(of text: String) -> Int {
        var text = text
        return text.withUTF8 { bytes in
            var count = bytes.count + 2
            for index in bytes.indices {
                switch bytes[index] {
                case 0x22, 0x5C, 0x08, 0x09, 0x0A, 0x0C, 0x0D: count += 1
                case ..<0x20, 0x7F: count += longestEscape - 1
                case 0x80...0x9F where index > 0 && bytes[index - 1] == 0xC2: count += longestEscape - 2
                default: continue
                }
            }
            return count
        }
    }

    /// The length of the longest escape, such as `\u0001`.
    package static let longestEscape = 6

    private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
        let letter: UInt8
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): letter = byte
        case 0x08: letter = UInt8(ascii: "b")
        case 0x09: letter = UInt8(ascii: "t")
        case 0x0A: letter = UInt8(ascii: "n")
        case 0x0C: letter = UInt8(ascii: "f")
        case 0x0D: letter = UInt8(ascii: "r")
        default:
            output += "\\u00".utf8
            Hexadecimal.append(byte, to: &output)
            return
        }
        output.append(UInt8(ascii: "\\"))
        output.append(letter)
    }
}
