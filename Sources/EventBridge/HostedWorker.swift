import EventRouting

/// A worker in a host: what it is, the way to it, and its starts.
struct HostedWorker {
    /// What its next start goes by.
    var specification: WorkerSpecification
    let peer: Peer
    /// Gets what the worker prints.
    let output: OutputGate
    /// Keeps the last lines of what it prints.
    let printed: OutputLog
    var starts = IncarnationTable()
    /// The last lines that the start which ended last had printed; nil if there are none.
    var lastOutput: String?
    /// Whether a request for this worker alone has stopped it, so that a request may start it again.
    var wasStoppedOnRequest = false
    /// Whether only its place is left of it; the supervisor counts by places.
    var isRemoved = false

    /// Leaves nothing of the worker.
    ///
    /// - Parameter vacancy: what stands in the places of all removed workers, so that a host whose workers come and go
    ///   does not grow by what each of them had.
    mutating func remove(leaving vacancy: HostedWorker) {
        self = vacancy
        isRemoved = true
    }
}
