/// One thing that is wrong in a configuration: its place, and a sentence that says what was found and expected.
package struct ConfigurationMistake: Sendable, Hashable, CustomStringConvertible {
    /// The path from the root, such as `workers[1].restart`; empty for the root itself.
    package let path: String
    package let line: Int
    package let column: Int
    package let message: String

    package init(path: String, location: JSONLocation, message: String) {
        self.path = path
        self.line = location.line
        self.column = location.column
        self.message = message
    }

    package var description: String {
        let place = "line \(line), column \(column)"
        return path.isEmpty ? "\(place): \(message)" : "\(place): \(path): \(message)"
    }
}

/// Collects the mistakes of one reading, so that a person gets all of them at once.
///
/// This is a class, because all values of one tree report to the same object. Only the reading thread uses it.
package final class ConfigurationMistakes {
    private var collected: [ConfigurationMistake] = []

    package init() {}

    /// All mistakes, in the order of the text.
    package var all: [ConfigurationMistake] {
        collected.enumerated()
            .sorted {
                ($0.element.line, $0.element.column, $0.offset) < ($1.element.line, $1.element.column, $1.offset)
            }
            .map(\.element)
    }

    package var isEmpty: Bool { collected.isEmpty }

    package func add(_ mistake: ConfigurationMistake) {
        collected.append(mistake)
    }
}
