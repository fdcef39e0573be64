import JSONText

/// Reads the arguments of the program.
struct CommandLineParser {
    /// Subcommands that are announced, and why they are not there.
    private static let announced = ["status", "tail", "publish", "stop", "restart", "trace", "graph"]
    private static let subcommands = ["run", "check", "help"]

    private var arguments: ArraySlice<String>
    private let topic: HelpTopic
    private var positional: [String] = []
    private var asksForHelp = false

    /// Understands the arguments that follow the program's name.
    static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
        guard let first = arguments.first else {
            throw UsageError(description: "found no subcommand, expected run, check or help", topic: .supervisor)
        }
        let rest = arguments.dropFirst()
        switch first {
        case "run":
            var parser = CommandLineParser(arguments: rest, topic: .run)
            return try parser.parseRun()
        case "check":
            var parser = CommandLineParser(arguments: rest, topic: .check)
            return try parser.parseCheck()
        case "help", "--help", "-h": return .help(try topic(rest.first))
        case "--version", "version": return .version
        default: throw unknown(first)
        }
    }

    private init(arguments: ArraySlice<String>, topic: HelpTopic) {
        self.arguments = arguments
        self.topic = topic
    }

    private static func topic(_ word: String?) throws(UsageError) -> HelpTopic {
        switch word {
        case nil, "help"?: return .supervisor
        case "run"?: return .run
        case "check"?: return .check
        case let word?: throw unknown(word)
        }
    }

    private static func unknown(_ word: String) -> UsageError {
        if announced.contains(word) {
            return UsageError(
                description: "\"\(word)\" is not supported yet; so far there are run, check and help",
                topic: .supervisor
            )
        }
        let what = word.hasPrefix("-") ? "option" : "subcommand"
        let known = what == "option" ? ["--help", "--version"] : subcommands + announced
        let question = NearestName.question(for: word, among: known)
        let hint = question.isEmpty ? "; expected run, check or help" : question
        return UsageError(description: "found the unknown \(what) \(ShownValue.text(word))\(hint)", topic: .supervisor)
    }

    // MARK: - Subcommands

    private mutating func parseRun() throws(UsageError) -> Invocation {
        var options = RunOptions(configuration: "")
        let known = ["--input", "--format", "--exit-when-idle", "--strict"]
        try walk(known: known) { parser, option, value throws(UsageError) in
            switch option {
            case "--input":
                let text = try parser.value(of: option, value, expected: "a file, or - for standard input")
                options.input = text == "-" ? .standardInput : .file(text)
            case "--format":
                let text = try parser.value(of: option, value, expected: "text or json")
                guard let format = RunOptions.Format(rawValue: text) else {
                    let question = NearestName.question(for: text, among: RunOptions.Format.allCases.map(\.rawValue))
                    throw parser.error("found the format \(ShownValue.text(text)), expected text or json\(question)")
                }
                options.format = format
            case "--exit-when-idle":
                try parser.noValue(of: option, value)
                options.exitsWhenIdle = true
            default:
                try parser.noValue(of: option, value)
                options.isStrict = true
            }
        }
        if asksForHelp { return .help(.run) }
        options.configuration = try configuration()
        return .run(options)
    }

    private mutating func parseCheck() throws(UsageError) -> Invocation {
        try walk(known: []) { _, _, _ in }
        return asksForHelp ? .help(.check) : .check(configuration: try configuration())
    }

    // MARK: - Words

    /// Goes through the words: options are handed to `take` with what follows their `=`, the others are kept.
    private mutating func walk(
        known: [String],
        _ take: (inout CommandLineParser, _ option: String, _ value: String?) throws(UsageError) -> Void
    ) throws(UsageError) {
        while let word = arguments.popFirst() {
            if word == "--" {
                positional += arguments
                arguments = []
            } else if word == "--help" || word == "-h" {
                asksForHelp = true
            } else if word.hasPrefix("-"), word != "-" {
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                guard known.contains(parts[0]) else { throw unknownOption(parts[0], known) }
                try take(&self, parts[0], parts.count > 1 ? parts[1] : nil)
            } else {
                positional.append(word)
            }
        }
    }

    private func unknownOption(_ option: String, _ known: [String]) -> UsageError {
        if option == "--control" {
            return error("--control is not supported yet: nothing can attach to a running supervisor; leave it out")
        }
        let question = NearestName.question(for: option, among: known + ["--help"])
        let hint = question.isEmpty ? "; known here are \((known + ["--help"]).joined(separator: ", "))" : question
        return error("found the unknown option \(ShownValue.text(option))\(hint)")
    }

    private mutating func value(of option: String, _ value: String?, expected: String) throws(UsageError) -> String {
        guard let text = value ?? arguments.popFirst() else {
            throw error("found nothing after \(option), expected \(expected)")
        }
        guard !text.isEmpty else { throw error("found nothing as the value of \(option), expected \(expected)") }
        return text
    }

    private func noValue(of option: String, _ value: String?) throws(UsageError) {
        if let value { throw error("found the value \(ShownValue.text(value)) after \(option), which takes none") }
    }

    private func configuration() throws(UsageError) -> String {
        guard let file = positional.first, !file.isEmpty else {
            throw error("found no configuration, expected the name of its file")
        }
        guard positional.count == 1 else {
            throw error("found \(ShownValue.text(positional[1])) after the configuration, expected nothing more")
        }
        return file
    }

    private func error(_ description: String) -> UsageError {
        UsageError(description: description, topic: topic)
    }
}
