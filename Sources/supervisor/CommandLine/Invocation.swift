import Supervision

/// A subcommand with its options, as the command line states them.
enum Invocation: Sendable, Hashable {
    case run(RunOptions)
    case check(configuration: String)
    case graph(configuration: String, GraphFormat)
    case status(StatusOptions)
    case start(worker: String, control: String?)
    /// Stops a worker, or the supervisor itself if `worker` is nil.
    case stop(worker: String?, control: String?)
    case restart(worker: String, control: String?)
    case signal(worker: String, SignalNumber, control: String?)
    case reload(ReloadOptions)
    case deadLetters(DeadLettersOptions)
    case journal(JournalOptions)
    case logs(LogsOptions)
    case metrics(control: String?)
    case tail(TailOptions)
    case publish(PublishOptions)
    case request(RequestOptions)
    case events(EventsOptions)
    case trace(TraceOptions)
    case completion(CompletionScript.Shell)
    /// The names that a completion script asks for.
    case completionNames(CompletionNames)
    /// The help on a subcommand, or on the program as a whole.
    case help(Subcommand.Name?)
    /// The help as a page of the manual.
    case manual(Subcommand.Name?)
    case version
}

/// The options of `supervisor run`.
struct RunOptions: Sendable, Hashable {
    /// How events are printed.
    enum Format: String, Sendable, Hashable, CaseIterable {
        case text
        case json
    }

    /// The source of the events to publish.
    enum Input: Sendable, Hashable {
        case standardInput
        case file(String)

        /// The input's name, which precedes a line's number in messages.
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
    /// The control socket at which clients attach; nil for the configuration's.
    var control: String?
    /// The port of the dashboard, 0 for any free one; nil for no dashboard.
    var dashboard: UInt16?
}

/// The options of `supervisor status`.
struct StatusOptions: Sendable, Hashable {
    /// The control socket's path on the command line; nil if it was not given.
    var control: String?
    var isJSON = false
    var isWatching = false
    /// Whether workers that need no attention are left out.
    var isOnlyBad = false
}

/// A command line that was not understood; the description says why, as a sentence.
struct UsageError: Error, Sendable, Hashable, CustomStringConvertible {
    let description: String
    /// The subcommand whose help answers the mistake; nil for the program's help.
    let topic: Subcommand.Name?
}
