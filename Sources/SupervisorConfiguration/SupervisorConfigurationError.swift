package import JSONText

/// Why a configuration could not be read; each line of the description names the file.
package enum SupervisorConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file could not be read; the reason, such as `Permission denied`, ends the sentence.
    case unreadable(file: String, reason: String)
    case directory(file: String)
    case tooLarge(file: String, limit: Int)
    case syntax(file: String, JSONError)
    /// The mistakes in the file; never empty.
    case mistakes(file: String, [ConfigurationMistake])

    package var description: String {
        switch self {
        case .unreadable(let file, let reason):
            "\(file): the configuration cannot be read: \(reason)"
        case .directory(let file):
            "\(file): found a directory, expected a configuration file"
        case .tooLarge(let file, let limit):
            "\(file): found more than \(ByteCountText.text(limit)), which is the limit for a configuration file"
        case .syntax(let file, let error):
            "\(file):\(error.line):\(error.column): \(error.message)"
        case .mistakes(let file, let mistakes):
            mistakes.map { Self.line($0, file: file) }.joined(separator: "\n")
        }
    }

    private static func line(_ mistake: ConfigurationMistake, file: String) -> String {
        let place = "\(file):\(mistake.line):\(mistake.column)"
        return mistake.path.isEmpty ? "\(place): \(mistake.message)" : "\(place): \(mistake.path): \(mistake.message)"
    }
}
