import EventRouting

/// A worker in a host: its specification, its peer, its output and its starts.
struct HostedWorker {
    /// The specification that the worker's next start uses.
    var specification: WorkerSpecification
    let peer: Peer
    /// Gets what the worker prints.
    let output: OutputGate
    /// Keeps the last lines that the worker prints.
    let printed: OutputLog
    var starts = IncarnationTable()
    /// The last lines that the worker's last ended start had printed; nil if there are none.
    var lastOutput: String?
    /// Whether a request for this worker alone has stopped it, so that a request may start it again.
    var wasStoppedOnRequest = false
    /// Whether the worker was removed; its place stays, as the supervisor counts by places.
    var isRemoved = false

    /// Removes all that the host holds for the worker.
    ///
    /// - Parameter vacancy: the one entry for all removed workers, so that a host whose workers come and go does not
    ///   grow by what each of them had.
    mutating func remove(leaving vacancy: HostedWorker) {
        self = vacancy
        isRemoved = true
    }
}
