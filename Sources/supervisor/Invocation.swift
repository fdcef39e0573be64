/// What the command line asks for.
enum Invocation: Sendable, Hashable {
    case run(RunOptions)
    case check(configuration: String)
    case help(HelpTopic)
    case version
}

/// What `supervisor run` was told.
struct RunOptions: Sendable, Hashable {
    /// How events are printed.
    enum Format: String, Sendable, Hashable, CaseIterable {
        case text
        case json
    }

    /// Where events to publish are read from.
    enum Input: Sendable, Hashable {
        case standardInput
        case file(String)

        /// As it is called in front of a line's number.
        var name: String {
            switch self {
            case .standardInput: "standard input"
            case .file(let path): path
            }
        }
    }

    var configuration: String
    var input: Input?
    var format = Format.text
    var exitsWhenIdle = false
    var isStrict = false
}

/// What there is help about.
enum HelpTopic: Sendable, Hashable {
    case supervisor
    case run
    case check
}

/// Why a command line was not understood, as a sentence.
struct UsageError: Error, Sendable, Hashable, CustomStringConvertible {
    let description: String
    /// Whose help answers it.
    let topic: HelpTopic
}
