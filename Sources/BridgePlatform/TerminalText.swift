/// Text from workers, made fit for a terminal.
package enum TerminalText {
    /// Writes characters as escapes if they would change the display instead of being seen.
    ///
    /// A terminal would obey control characters; marks of direction and separators of lines would disguise the text.
    package static func harmless(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: acts) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if acts(scalar) {
                let digits = String(scalar.value, radix: 16)
                result.append(
                    contentsOf: ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars
                )
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// Does the same as ``harmless(_:)`` for each of several lines.
    package static func harmlessLines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { harmless(String($0)) }.joined(
            separator: "\n"
        )
    }

    private static func acts(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09: false
        // C0, DEL and C1.
        case 0x00...0x1F, 0x7F...0x9F: true
        // Unicode's Bidi_Control (UAX #9), and its separators of lines and paragraphs.
        case 0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069, 0x2028...0x2029: true
        default: false
        }
    }
}
