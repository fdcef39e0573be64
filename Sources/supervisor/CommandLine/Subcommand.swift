/// A subcommand as a person types it: its operands and options, and the texts of its help.
///
/// The parser, the help, the manual and the completion scripts all follow from this description, so they agree.
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

    /// The values that can be typed for an operand or after an option.
    enum Values: Sendable, Hashable {
        case file
        case choice([String])
        /// The names of workers or events, for which a shell asks the running supervisor.
        case names(CompletionNames.Kind)
        /// Values that a shell cannot know.
        case text
    }

    /// A word that is not an option.
    struct Operand: Sendable, Hashable {
        /// The word for the operand in the usage.
        let placeholder: String
        /// The word for the operand in a sentence.
        let noun: String
        /// What is expected as the operand, such as `the name of an event`.
        let expected: String
        let values: Values
        var isOptional = false
        /// Whether the operand may be given any number of times; it is then the last operand.
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
            /// The value if none is given; nil if a value must be given.
            ///
            /// If the value may be left out, only a number after the option is taken for the value.
            var usual: String?

            /// The value in the usage, with its brackets.
            var usage: String { usual == nil ? placeholder : "[\(placeholder)]" }
        }

        /// The name with its two dashes.
        let name: String
        /// The value that follows the option; nil for an option without a value.
        var value: Value?
        /// A few words without a full stop.
        let summary: String
        /// Whether the option has to be given.
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

    /// The usage, as one line.
    var usage: String { usageWords.joined(separator: " ") }

    /// The pieces of the usage; a line may be broken between two pieces.
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
