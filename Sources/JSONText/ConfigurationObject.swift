/// A configuration's object with a known set of keys: it returns their values, and reports missing and unknown keys.
package struct ConfigurationObject {
    private let value: ConfigurationValue
    private let values: [String: ConfigurationValue]

    init(
        _ value: ConfigurationValue,
        members: [JSONNode.Member],
        keys: [String],
        unsupported: [String: String]
    ) {
        self.value = value
        var values: [String: ConfigurationValue] = [:]
        for member in members {
            let path = ConfigurationPath.appending(member.key, to: value.path)
            func report(_ message: String) {
                value.mistakes.add(.init(path: path, location: member.keyLocation, message: message))
            }
            if keys.contains(member.key) {
                values[member.key] = ConfigurationValue(member.node, path: path, mistakes: value.mistakes)
            } else if let sentence = unsupported[member.key] {
                report(sentence)
            } else {
                let question = NearestName.question(for: member.key, among: keys)
                let hint = question.isEmpty ? "; known here are \(keys.joined(separator: ", "))" : question
                report("unknown key \(ShownValue.text(member.key))\(hint)")
            }
        }
        self.values = values
    }

    /// The value of the key; nil for a missing key, which is reported.
    package func required(_ key: String, expected: String) -> ConfigurationValue? {
        guard let found = values[key] else {
            value.report("the key \(JSONEscaping.quoted(key)) is missing, expected \(expected)")
            return nil
        }
        return found
    }

    package func optional(_ key: String) -> ConfigurationValue? { values[key] }

    /// Reports a mistake at the object as a whole.
    package func report(_ message: String) { value.report(message) }
}

/// How the path to a value is written.
enum ConfigurationPath {
    /// `a.b`, or `a["b c"]` where the key is not a plain word.
    static func appending(_ key: String, to path: String) -> String {
        let isWord = !key.isEmpty && key.utf8.count <= ShownValue.longest && key.utf8.allSatisfy(JSONParser.isWordByte)
        guard isWord else { return "\(path)[\(ShownValue.text(key))]" }
        return path.isEmpty ? key : "\(path).\(key)"
    }
}
