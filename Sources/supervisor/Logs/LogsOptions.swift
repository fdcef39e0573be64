/// The options of `supervisor logs`.
struct LogsOptions: Sendable, Hashable {
    /// A worker, a pool, or a member of one.
    let worker: String
    /// The control socket's path on the command line; nil if it was not given.
    let control: String?
    /// Whether the lines that the worker prints while the command runs are shown, too.
    let follows: Bool
}
