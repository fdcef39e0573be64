import JSONText

/// The words after a subcommand, sorted into options and operands by the subcommand's description.
struct SubcommandArguments: Sendable {
    /// The value of each given option that takes a value; if an option was given several times, its last value.
    private(set) var values: [String: String] = [:]
    /// The given options that take no value.
    private(set) var flags: Set<String> = []
    /// The given operands; optional ones may be missing at the end.
    private(set) var operands: [String] = []
    private(set) var asksForHelp = false

    private let subcommand: Subcommand

    init(_ words: ArraySlice<String>, of subcommand: Subcommand) throws(UsageError) {
        self.subcommand = subcommand
        var words = words
        var found: [String] = []
        while let word = words.popFirst() {
            if word == "--" {
                found += words
                words = []
            } else if word == "--help" || word == "-h" {
                asksForHelp = true
            } else if word.hasPrefix("-"), word != "-" {
                try take(option: word, from: &words)
            } else {
                found.append(word)
            }
        }
        // A user who asks for help may have left out or mixed up the other arguments.
        guard !asksForHelp else { return }
        operands = try checked(found)
        for option in subcommand.options where option.isRequired && values[option.name] == nil {
            throw error("found no \(option.name), expected \(option.value?.expected ?? "it")")
        }
    }

    /// The time that was given with an option; `usual` if the option was not given.
    func duration(_ option: String, usually usual: String) throws(UsageError) -> Duration {
        let text = values[option] ?? usual
        switch DurationText.parse(text) {
        case .duration(let duration): return duration
        case .expected(let expected):
            throw error("found \(ShownValue.text(text)) after \(option), expected \(expected)")
        }
    }

    /// The time limit that was given with `--within`, which is above 0; `usual` if the option was not given.
    func timeLimit(usually usual: String) throws(UsageError) -> Duration {
        let limit = try duration("--within", usually: usual)
        guard limit > .zero else {
            throw error("found \(ShownValue.text(values["--within"] ?? usual)) after --within, expected a time above 0")
        }
        return limit
    }

    private mutating func take(option word: String, from words: inout ArraySlice<String>) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let (name, given) = (parts[0], parts.count > 1 ? parts[1] : nil)
        guard let option = subcommand.options.first(where: { $0.name == name }) else { throw unknownOption(name) }
        guard let value = option.value else {
            if let given { throw error("found the value \(ShownValue.text(given)) after \(name), which takes none") }
            flags.insert(name)
            return
        }
        guard let text = given ?? Self.text(of: value, from: &words) else {
            throw error("found nothing after \(name), expected \(value.expected)")
        }
        guard !text.isEmpty else { throw error("found nothing as the value of \(name), expected \(value.expected)") }
        let what = String(name.drop { $0 == "-" })
        values[name] = try checked(text, among: value.values, what, expected: value.expected)
    }

    private static func text(of value: Subcommand.Option.Value, from words: inout ArraySlice<String>) -> String? {
        guard let usual = value.usual else { return words.popFirst() }
        let isNumber = words.first?.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
        return isNumber ? words.popFirst() : usual
    }

    private func checked(_ words: [String]) throws(UsageError) -> [String] {
        let known = subcommand.operands
        let last = known.last
        var checkedWords: [String] = []
        for (index, operand) in known.enumerated() {
            guard index < words.count, !words[index].isEmpty else {
                if operand.isOptional, index >= words.count { break }
                throw error("found no \(operand.noun), expected \(operand.expected)")
            }
            checkedWords.append(
                try checked(words[index], among: operand.values, operand.noun, expected: operand.expected)
            )
        }
        for word in words.dropFirst(known.count) {
            guard let last, last.isRepeated else { break }
            checkedWords.append(try checked(word, among: last.values, last.noun, expected: last.expected))
        }
        if words.count > max(known.count, checkedWords.count) {
            let place = last.map { " after the \($0.noun)" } ?? ""
            throw error("found \(ShownValue.text(words[known.count]))\(place), expected nothing more")
        }
        return checkedWords
    }

    private func checked(
        _ word: String,
        among values: Subcommand.Values,
        _ what: String,
        expected: String
    ) throws(UsageError) -> String {
        guard case .choice(let known) = values, !known.contains(word) else { return word }
        let question = NearestName.question(for: word, among: known)
        throw error("found the \(what) \(ShownValue.text(word)), expected \(expected)\(question)")
    }

    private func unknownOption(_ option: String) -> UsageError {
        let known = subcommand.options.map(\.name) + ["--help"]
        let question = NearestName.question(for: option, among: known)
        let hint = question.isEmpty ? "; known here are \(known.joined(separator: ", "))" : question
        return error("found the unknown option \(ShownValue.text(option))\(hint)")
    }

    private func error(_ description: String) -> UsageError {
        UsageError(description: description, topic: subcommand.name)
    }
}
