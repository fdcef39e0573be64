/// Why a run ends.
enum RunEnding: Sendable, Hashable {
    /// SIGTERM, SIGINT or the command `stop`.
    case requested
    /// The input is at its end, and everything in it has been handled.
    case idle
    /// With `--strict`: a line of the input is wrong.
    case badInput
    /// No worker runs, and none will be started again.
    case noWorkerLeft
    /// The bridge starts no worker, because it lacks something that it needs; the text says what.
    case notStarted(String)

    /// The sentence that announces the end; nil if the end needs none.
    var sentence: String? {
        switch self {
        case .requested: "stopping: the workers finish what they have"
        case .idle, .badInput: nil
        case .noWorkerLeft: "stopping: no worker is left"
        case .notStarted(let reason): reason
        }
    }
}
