/// A value of a configuration, with its path; each method reads the value as one type.
///
/// A method that finds a mistake reports it and returns nil, and the caller goes on with the next value.
package struct ConfigurationValue {
    package let node: JSONNode
    package let path: String
    package let mistakes: ConfigurationMistakes

    package init(_ node: JSONNode, path: String = "", mistakes: ConfigurationMistakes) {
        self.node = node
        self.path = path
        self.mistakes = mistakes
    }

    /// Reports a mistake at this value.
    package func report(_ message: String) {
        mistakes.add(ConfigurationMistake(path: path, location: node.location, message: message))
    }

    package func string(example: String) -> String? {
        guard case .string(let text) = node.value else {
            reportType(expected: "a string such as \(JSONEscaping.quoted(example))")
            return nil
        }
        return text
    }

    package func nonEmptyString(example: String) -> String? {
        guard let text = string(example: example) else { return nil }
        guard !text.isEmpty else {
            report("found an empty string, expected one such as \(JSONEscaping.quoted(example))")
            return nil
        }
        return text
    }

    package func bool() -> Bool? {
        guard case .bool(let bool) = node.value else {
            reportType(expected: "true or false")
            return nil
        }
        return bool
    }

    /// - Parameter other: what else is possible, for the message; the caller has checked for that before.
    package func integer(in range: ClosedRange<Int>, or other: String? = nil) -> Int? {
        let expected = "an integer from \(range.lowerBound) to \(range.upperBound)\(other.map { " or \($0)" } ?? "")"
        switch node.value {
        case .unsigned(let number):
            if let integer = Int(exactly: number), range.contains(integer) { return integer }
        case .negative(let number):
            if let number = Int(exactly: number), range.contains(-1 - number) { return -1 - number }
        default:
            reportType(expected: expected)
            return nil
        }
        report("found \(found), expected \(expected)")
        return nil
    }

    /// One of the names of an enumeration.
    ///
    /// - Parameter synonyms: words of other programs; they are refused, and the message suggests the right word.
    package func choice<Choice: CaseIterable & RawRepresentable>(
        _: Choice.Type = Choice.self,
        synonyms: [String: Choice] = [:]
    ) -> Choice? where Choice.RawValue == String {
        let names = Choice.allCases.map(\.rawValue)
        guard case .string(let text) = node.value else {
            reportType(expected: "one of \(names.map(JSONEscaping.quoted).joined(separator: ", "))")
            return nil
        }
        guard let choice = Choice(rawValue: text) else {
            let near = NearestName.suggestion(for: text, among: names + synonyms.keys.sorted())
            let meant = near.map { synonyms[$0]?.rawValue ?? $0 }
            let question = meant.map { "; did you mean \(JSONEscaping.quoted($0))?" } ?? ""
            report("\(ShownValue.text(text)) is none of \(names.joined(separator: ", "))\(question)")
            return nil
        }
        return choice
    }

    /// The elements of an array, in order.
    package func elements(of what: String) -> [ConfigurationValue]? {
        guard case .array(let nodes) = node.value else {
            reportType(expected: "an array of \(what)")
            return nil
        }
        return nodes.enumerated().map { index, node in
            ConfigurationValue(node, path: "\(path)[\(index)]", mistakes: mistakes)
        }
    }

    /// The non-empty names in an array, each once; other elements are reported and left out.
    ///
    /// A name for which `mistake` returns a sentence is reported too, but kept.
    package func uniqueNames(example: String, mistake: (String) -> String? = { _ in nil }) -> [String]? {
        guard let elements = elements(of: "strings such as [\(JSONEscaping.quoted(example))]") else { return nil }
        // The names are told apart by their bytes, as event names are.
        var firstLines: [[UInt8]: Int] = [:]
        return elements.compactMap { element in
            guard let name = element.nonEmptyString(example: example) else { return nil }
            let bytes = Array(name.utf8)
            if let line = firstLines[bytes] {
                element.report("duplicate \(ShownValue.text(name)) (first at line \(line))")
                return nil
            }
            firstLines[bytes] = element.node.location.line
            if let mistake = mistake(name) { element.report(mistake) }
            return name
        }
    }

    /// The members of an object with any keys, in order; keys that equal an earlier key are reported and left out.
    ///
    /// Swift takes two Unicode spellings of a text as equal, so such keys would be one key of a dictionary.
    package func members(of what: String) -> [(key: String, value: ConfigurationValue)]? {
        guard case .object(let members) = node.value else {
            reportType(expected: "an object of \(what)")
            return nil
        }
        var keys: Set<String> = []
        return members.compactMap { member in
            let path = ConfigurationPath.appending(member.key, to: path)
            let value = ConfigurationValue(member.node, path: path, mistakes: mistakes)
            if keys.insert(member.key).inserted { return (member.key, value) }
            value.report("found the key \(ShownValue.text(member.key)), which stands above in another Unicode spelling")
            return nil
        }
    }

    /// An object of strings; other values, and keys that equal an earlier key, are reported and left out.
    package func stringMap(example: String) -> [String: String]? {
        guard let members = members(of: "strings such as \(example)") else { return nil }
        var map: [String: String] = [:]
        for (key, value) in members { map[key] = value.string(example: "info") }
        return map
    }

    /// An object with some of these keys; any other key is reported.
    ///
    /// - Parameter unsupported: keys that are reported with the sentence given for them, rather than as unknown.
    package func object(keys: [String], unsupported: [String: String] = [:]) -> ConfigurationObject? {
        guard case .object(let members) = node.value else {
            let names = keys.prefix(3).map(JSONEscaping.quoted).joined(separator: ", ")
            reportType(expected: "an object with \(keys.count > 3 ? "keys such as " : "")\(names)")
            return nil
        }
        return ConfigurationObject(self, members: members, keys: keys, unsupported: unsupported)
    }

    func reportType(expected: String) {
        report("found \(found), expected \(expected)")
    }

    /// The value in words, cut where it is long.
    var found: String { ShownValue.text(node) }
}
