/// The field that an error is about: taken from the error itself, or from the error's sentence.
extension CBORError {
    /// The path of the field that was wrong or is missing, such as `items[3].title`; nil if the whole value was wrong.
    package var field: String? {
        switch code {
        case .missingKey(let key): path.isEmpty ? key : "\(path).\(key)"
        case .missingElement(let index): "\(path)[\(index)]"
        default: path.isEmpty ? nil : path
        }
    }

    /// The ``field`` that an error's ``sentenceOfValue`` names; nil for any other text.
    ///
    /// A refusal from another process has only the sentence. A path with a space in it is found only if the space is in
    /// the name of the missing key. No path is found after a reason that a type's own code gave: a word of the reason
    /// could be taken for a path.
    package static func field(named sentence: String) -> String? {
        guard sentence.hasSuffix("."), sentence.utf8.count <= longestSentence,
            let kind = kinds.first(where: { sentence.hasPrefix($0.begin) })
        else { return nil }
        let words = sentence.dropLast()
        guard let end = kind.nameEnd else {
            return words.ranges(of: place).last.flatMap { path(String(words[$0.upperBound...])) }
        }
        let rest = words.dropFirst(kind.begin.count)
        guard let name = rest.ranges(of: end).last else { return nil }
        let field = kind.isIndex ? "[\(rest[..<name.lowerBound])]" : String(rest[..<name.lowerBound])
        let behind = rest[name.upperBound...]
        if behind.isEmpty { return field }
        guard behind.hasPrefix(place), let container = path(String(behind.dropFirst(place.count))) else { return nil }
        return kind.isIndex ? container + field : "\(container).\(field)"
    }

    /// The text if it can only be a path; nil if it could be part of a reason.
    private static func path(_ text: String) -> String? {
        text.isEmpty || text.contains(" ") || text.hasSuffix("\"") ? nil : text
    }

    /// The text between a mistake and its path.
    private static let place = " at "

    /// The longest sentence that is searched, in bytes: a link sends at most 1,024 scalars, of up to four bytes each.
    private static let longestSentence = 4_096

    /// The beginnings of sentences that name a place in a value, and the text after the name of a missing key or index.
    private static let kinds: [(begin: String, nameEnd: String?, isIndex: Bool)] = [
        ("The key \"", "\" is missing", false),
        ("Expected an element with index ", " but the array ends before it", true),
        ("Expected ", nil, false),
        ("The number ", nil, false),
        ("A map holds the key ", nil, false),
        ("Found the unknown case \"", nil, false),
    ]
}
