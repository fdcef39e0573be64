/// The field of a value that an error is about, and the same field in the words of an error.
extension CBORError {
    /// The path of the field that was wrong or is missing, such as `items[3].title`; nil if it is the value as a whole.
    package var field: String? {
        switch code {
        case .missingKey(let key): path.isEmpty ? key : "\(path).\(key)"
        case .missingElement(let index): "\(path)[\(index)]"
        default: path.isEmpty ? nil : path
        }
    }

    /// The ``field`` of the error whose ``sentenceOfValue`` this is; nil for any other text.
    ///
    /// A refusal brings the sentence alone from another process. A path with a space in it is not found: the words of
    /// a reason could be taken for it.
    package static func field(named sentence: String) -> String? {
        guard sentence.hasSuffix("."),
            let kind = kinds.first(where: { sentence.hasPrefix($0.begin) })
        else { return nil }
        let words = sentence.dropLast()
        let path = words.ranges(of: " at ").last.map { words[$0.upperBound...] } ?? ""
        let container = path.contains(" ") || path.hasSuffix("\"") ? "" : String(path)
        guard let end = kind.nameEnd else { return container.isEmpty ? nil : container }
        let rest = words.dropFirst(kind.begin.count)
        guard let name = rest.ranges(of: end).last.map({ rest[..<$0.lowerBound] }) else { return nil }
        if kind.isIndex { return "\(container)[\(name)]" }
        return container.isEmpty ? String(name) : "\(container).\(name)"
    }

    /// How the sentences begin that name a place in a value; with what follows the name of what is missing.
    private static let kinds: [(begin: String, nameEnd: String?, isIndex: Bool)] = [
        ("The key \"", "\" is missing", false),
        ("Expected an element with index ", " but the array ends before it", true),
        ("Expected ", nil, false),
        ("The number ", nil, false),
        ("A map holds the key ", nil, false),
        ("Found the unknown case \"", nil, false),
        ("The value was refused: ", nil, false),
        ("The value cannot be encoded: ", nil, false),
    ]
}
