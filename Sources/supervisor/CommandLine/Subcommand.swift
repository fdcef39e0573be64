/// A subcommand as a person types it: what it takes, and what it says about itself.
///
/// The parser, the help, the manual and the completion scripts are all made from it, so they cannot differ.
struct Subcommand: Sendable {
    enum Name: String, Sendable, Hashable, CaseIterable {
        case run
        case check
        case status
        case start
        case stop
        case restart
        case signal
        case reload
        case deadLetters = "dead-letters"
        case journal
        case logs
        case metrics
        case graph
        case tail
        case publish
        case request
        case events
        case trace
        case completion
        case help
    }

    /// What can be typed for an operand or after an option.
    enum Values: Sendable, Hashable {
        case file
        case choice([String])
        /// The names of workers or events of a running supervisor, which a shell asks for.
        case names(CompletionNames.Kind)
        /// Values that a shell cannot know.
        case text
    }

    /// A word that is not an option.
    struct Operand: Sendable, Hashable {
        /// The word for it in the usage.
        let placeholder: String
        /// The word for it in a sentence, and the description of what is expected.
        let noun: String
        let expected: String
        let values: Values
        var isOptional = false
        /// Whether it may be given any number of times; it is the last operand then.
        var isRepeated = false

        /// The operand in the usage, with its brackets.
        var usage: String {
            let word = isRepeated ? "\(placeholder) ..." : placeholder
            return isOptional ? "[\(word)]" : word
        }
    }

    struct Option: Sendable, Hashable {
        struct Value: Sendable, Hashable {
            let placeholder: String
            let expected: String
            let values: Values
            /// The value if none is given; nil if one must be given.
            ///
            /// Only a number that follows the option is then taken for its value.
            var usual: String?

            /// The value in the usage, with its brackets.
            var usage: String { usual == nil ? placeholder : "[\(placeholder)]" }
        }

        /// The name with its two dashes.
        let name: String
        /// The value that has to follow the option, if any.
        var value: Value?
        /// A few words without a full stop.
        let summary: String
        /// Whether the subcommand needs it.
        var isRequired = false
        /// Further lines of the help.
        var details: [String] = []
    }

    let name: Name
    /// A few words without a full stop.
    let summary: String
    /// The explanation, in sentences.
    let purpose: String
    /// The operands in their order; the optional ones are last.
    var operands: [Operand] = []
    var options: [Option] = []
    /// Paragraphs of the help after the options.
    var details: [String] = []
    /// Each exit status with the lines that explain it.
    var statuses: [(status: ProgramStatus, lines: [String])] = []

    /// The usage, in a line.
    var usage: String { usageWords.joined(separator: " ") }

    /// The pieces of the usage, between which it may be broken.
    var usageWords: [String] {
        var words = ["supervisor \(name.rawValue)"]
        words += operands.map(\.usage)
        words += options.map { option in
            let word = "\(option.name)\(option.value.map { " \($0.usage)" } ?? "")"
            return option.isRequired ? word : "[\(word)]"
        }
        return words
    }
}
