/// A subcommand as a person types it: what it takes, and what it says about itself.
///
/// The parser, the help, the manual and the completion scripts are all made of this, so that they cannot differ.
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

    /// What can be typed for an operand or behind an option.
    enum Values: Sendable, Hashable {
        case file
        case choice([String])
        /// Nothing that a shell could know.
        case text
    }

    /// A word that is no option.
    struct Operand: Sendable, Hashable {
        /// As it stands in the usage.
        let placeholder: String
        /// What it is called in a sentence, and what is expected there.
        let noun: String
        let expected: String
        let values: Values
        var isOptional = false
        /// Whether it may be given any number of times; then it is the last one.
        var isRepeated = false

        /// As it stands in the usage, with its brackets.
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
            /// What it is where it is left out; nil if it may not be.
            ///
            /// Only a number that follows is taken for it then.
            var usual: String?

            /// As it stands in the usage, with its brackets.
            var usage: String { usual == nil ? placeholder : "[\(placeholder)]" }
        }

        /// With its two dashes.
        let name: String
        /// What has to follow it, if anything has.
        var value: Value?
        /// In a few words, without an end.
        let summary: String
        /// Whether nothing goes without it.
        var isRequired = false
        /// Further lines of the help.
        var details: [String] = []
    }

    let name: Name
    /// In a few words, without an end.
    let summary: String
    /// In sentences.
    let purpose: String
    /// In their order; those that may be left out are the last ones.
    var operands: [Operand] = []
    var options: [Option] = []
    /// Paragraphs of the help behind the options.
    var details: [String] = []
    /// Each exit status with the lines that explain it.
    var statuses: [(status: ProgramStatus, lines: [String])] = []

    /// How it is written, in a line.
    var usage: String { usageWords.joined(separator: " ") }

    /// What its usage may be broken between.
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
