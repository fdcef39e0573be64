/// What `supervisor logs` was told.
struct LogsOptions: Sendable, Hashable {
    /// A worker, a pool, or a member of one.
    let worker: String
    /// The control socket's path, if it was given.
    let control: String?
    /// Whether what the worker prints from now on is shown, too.
    let follows: Bool
}
