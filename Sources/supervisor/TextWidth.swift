/// How many columns of a terminal a text takes.
///
/// Terminals differ about joined emoji, and about characters that a selector turns into emoji. Here each of them counts
/// as its widest form on any terminal, so a line that fits by this count does not wrap because of them.
enum TextWidth {
    static func columns(of text: some StringProtocol) -> Int {
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text.utf8.count }
        return text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
    }

    /// The longest prefix of whole characters that fits into `room` columns.
    static func prefix<Text: StringProtocol>(of text: Text, columns room: Int) -> Text.SubSequence {
        var left = room
        var end = text.startIndex
        while end < text.endIndex {
            left -= text[end].unicodeScalars.reduce(0) { $0 + columns(of: $1) }
            guard left >= 0 else { break }
            end = text.index(after: end)
        }
        return text[..<end]
    }

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x09: return 8
        case 0x20..<0x300: return 1
        // This selector makes the character before it an emoji, which takes two columns on some terminals.
        case 0xFE0F: return 1
        // Vowels and final consonants of Hangul are written into the syllable's first character.
        case 0x1160...0x11FF: return 0
        default: break
        }
        if wide.contains(where: { $0.contains(scalar.value) }) || scalar.properties.isEmojiPresentation { return 2 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: return 1
        }
    }

    /// Wide and full-width characters (Unicode Standard Annex 11), and the blocks of pictographs.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF,
        0x1AFF0...0x1B2FF, 0x1D300...0x1D376, 0x1F200...0x1F265, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]
}
