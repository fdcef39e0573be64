/// How a value from outside is shown in a message: in JSON's spelling, and cut where it is long.
package enum ShownValue {
    /// Texts longer than this many bytes are cut.
    static let longest = 64

    package static func text(_ text: String) -> String {
        guard text.utf8.count > longest else { return JSONEscaping.quoted(text) }
        // The text is cut by scalars, because a single grapheme may be of any length.
        var cut = String.UnicodeScalarView()
        cut.append(contentsOf: text.unicodeScalars.prefix(longest / 2))
        return JSONEscaping.quoted(String(cut) + "…")
    }

    /// The value with its kind, as in `the number 5`.
    package static func text(_ node: JSONNode) -> String {
        switch node.value {
        case .null: "null"
        case .bool(let bool): "\(bool)"
        case .unsigned(let number): "the number \(number)"
        case .negative(let number): "the number \(JSONWriter.negativeText(number))"
        case .number(let number): "the number \(number)"
        case .string(let string): string.isEmpty ? "an empty string" : "the string \(text(string))"
        case .array(let elements): elements.isEmpty ? "an empty array" : "an array"
        case .object(let members): members.isEmpty ? "an empty object" : "an object"
        }
    }
}
