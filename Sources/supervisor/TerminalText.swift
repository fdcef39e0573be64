/// Text from workers, made fit for a terminal.
enum TerminalText {
    /// Control characters are shown as escapes: a terminal would obey them.
    static func harmless(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
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

    /// The same for several lines.
    static func harmlessLines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { harmless(String($0)) }.joined(
            separator: "\n"
        )
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        (scalar.value < 0x20 && scalar != "\t") || (0x7F...0x9F).contains(scalar.value)
    }
}
