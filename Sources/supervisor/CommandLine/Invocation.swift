import Supervision

/// What the command line asks for.
enum Invocation: Sendable, Hashable {
    case run(RunOptions)
    case check(configuration: String)
    case graph(configuration: String, GraphFormat)
    case status(StatusOptions)
    case start(worker: String, control: String?)
    /// Of a worker, or of everything.
    case stop(worker: String?, control: String?)
    case restart(worker: String, control: String?)
    case signal(worker: String, SignalNumber, control: String?)
    case reload(ReloadOptions)
    case deadLetters(DeadLettersOptions)
    case logs(LogsOptions)
    case metrics(control: String?)
    case tail(TailOptions)
    case publish(PublishOptions)
    case request(RequestOptions)
    case events(EventsOptions)
    case trace(TraceOptions)
    case completion(CompletionScript.Shell)
    /// About the program as a whole, or about a subcommand.
    case help(Subcommand.Name?)
    /// The same as a page of the manual.
    case manual(Subcommand.Name?)
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
    /// Where others attach; nil for what the configuration says.
    var control: String?
    /// The port of the dashboard, 0 for any that is free; nil to do without.
    var dashboard: UInt16?
}

/// What `supervisor status` was told.
struct StatusOptions: Sendable, Hashable {
    /// Where the supervisor is; nil for where it usually is.
    var control: String?
    var isJSON = false
    var isWatching = false
    /// Whether workers are left out that are as they should be.
    var isOnlyBad = false
}

/// Why a command line was not understood, as a sentence.
struct UsageError: Error, Sendable, Hashable, CustomStringConvertible {
    let description: String
    /// Whose help answers it; nil for that of the program.
    let topic: Subcommand.Name?
}
