import JSONText
import Supervision

/// Reads the arguments of the program.
enum CommandLineParser {
    private static let subcommands = Subcommand.Name.allCases.map(\.rawValue)

    /// Options that can stand in place of a subcommand.
    private static let options = ["--help", "-h", "--version"]

    /// Reads the arguments that follow the program's name.
    static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
        guard let first = arguments.first else {
            throw UsageError(description: "found no subcommand, expected \(expected)", topic: nil)
        }
        switch first {
        case "--help", "-h": return .help(nil)
        case "--version", "version": return .version
        case CompletionNames.word:
            guard let names = CompletionNames(arguments.dropFirst()) else { throw unknown(first) }
            return .completionNames(names)
        default: break
        }
        guard let name = Subcommand.Name(rawValue: first) else { throw unknown(first) }
        let rest = arguments.dropFirst()
        let given = try SubcommandArguments(rest, of: Subcommand.named(name))
        return try given.asksForHelp ? .help(name) : invocation(of: name, given)
    }

    private static func invocation(
        of name: Subcommand.Name,
        _ given: SubcommandArguments
    ) throws(UsageError) -> Invocation {
        let operand = given.operands.first ?? ""
        switch name {
        case .run: return .run(try RunOptions(given, configuration: operand))
        case .check: return .check(configuration: operand)
        case .graph:
            let format = given.values["--format"].flatMap(GraphFormat.init) ?? .mermaid
            return .graph(configuration: operand, given.flags.contains("--dot") ? .dot : format)
        case .status: return .status(StatusOptions(given))
        case .start: return .start(worker: operand, control: given.values["--control"])
        case .stop: return .stop(worker: given.operands.first, control: given.values["--control"])
        case .restart: return .restart(worker: operand, control: given.values["--control"])
        case .signal:
            return .signal(worker: operand, try signal(given.operands.last ?? ""), control: given.values["--control"])
        case .reload: return .reload(try ReloadOptions(given))
        case .deadLetters: return .deadLetters(try DeadLettersOptions(given))
        case .journal: return .journal(try JournalOptions(given))
        case .logs:
            let follows = given.flags.contains("--follow")
            return .logs(LogsOptions(worker: operand, control: given.values["--control"], follows: follows))
        case .metrics: return .metrics(control: given.values["--control"])
        case .tail: return .tail(TailOptions(given))
        case .publish: return .publish(try PublishOptions(given))
        case .request: return .request(try RequestOptions(given))
        case .events: return .events(try EventsOptions(given))
        case .trace: return .trace(try TraceOptions(given))
        case .completion: return .completion(CompletionScript.Shell(rawValue: operand) ?? .bash)
        case .help:
            let topic = Subcommand.Name(rawValue: operand)
            if given.flags.contains("--man") { return .manual(topic) }
            return .help(topic == .help ? nil : topic)
        }
    }

    private static func signal(_ word: String) throws(UsageError) -> SignalNumber {
        if let signal = SignalNumber(word) { return signal }
        let question = NearestName.question(for: word, among: SignalNumber.names)
        throw UsageError(
            description: "found the signal \(ShownValue.text(word)), expected \(Subcommand.expectedSignal)\(question)",
            topic: .signal
        )
    }

    private static var expected: String {
        "\(subcommands.dropLast().joined(separator: ", ")) or \(subcommands.last ?? "")"
    }

    private static func unknown(_ word: String) -> UsageError {
        let what = word.hasPrefix("-") ? "option" : "subcommand"
        let question = NearestName.question(for: word, among: what == "option" ? options : subcommands)
        let hint = question.isEmpty ? "; expected \(expected)" : question
        return UsageError(description: "found the unknown \(what) \(ShownValue.text(word))\(hint)", topic: nil)
    }
}

extension RunOptions {
    fileprivate init(_ given: SubcommandArguments, configuration: String) throws(UsageError) {
        self.init(configuration: configuration)
        input = given.values["--input"].map { $0 == "-" ? .standardInput : .file($0) }
        format = given.values["--format"].flatMap(Format.init) ?? .text
        exitsWhenIdle = given.flags.contains("--exit-when-idle")
        isStrict = given.flags.contains("--strict")
        control = given.values["--control"]
        guard let port = given.values["--dashboard"] else { return }
        dashboard = UInt16(port)
        guard dashboard != nil else {
            let found = "found \(ShownValue.text(port)) after --dashboard"
            throw UsageError(description: "\(found), expected \(Dashboard.expectedPort)", topic: .run)
        }
    }
}

extension StatusOptions {
    fileprivate init(_ given: SubcommandArguments) {
        self.init(
            control: given.values["--control"],
            isJSON: given.flags.contains("--json"),
            isWatching: given.flags.contains("--watch"),
            isOnlyBad: given.flags.contains("--only-bad")
        )
    }
}

extension TailOptions {
    fileprivate init(_ given: SubcommandArguments) {
        control = given.values["--control"]
        events = given.values["--events"]
        origin = given.values["--from"]
        format = given.values["--format"].flatMap(RunOptions.Format.init) ?? .text
    }
}

extension PublishOptions {
    fileprivate init(_ given: SubcommandArguments) throws(UsageError) {
        self.init(
            control: given.values["--control"],
            name: given.operands.first ?? "",
            json: given.operands.last ?? "",
            limit: try given.timeLimit(usually: Self.usualTime)
        )
    }
}
