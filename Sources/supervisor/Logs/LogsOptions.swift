/// The options of `supervisor logs`.
struct LogsOptions: Sendable, Hashable {
    /// A worker, a pool, or a member of one.
    let worker: String
    /// The control socket's path, if it was given.
    let control: String?
    /// Whether lines that the worker prints from now on are shown, too.
    let follows: Bool
}
