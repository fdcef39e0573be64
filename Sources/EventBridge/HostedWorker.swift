import EventRouting

/// A worker in a host: what it is, the way to it, and its starts.
struct HostedWorker {
    /// What its next start goes by.
    var specification: WorkerSpecification
    let route: Route
    /// Gets what it prints.
    let output: OutputGate
    /// Keeps the last lines of that.
    let printed: OutputLog
    var starts = IncarnationTable()
    /// The last lines that the start that has ended last had printed; nil if there are none.
    var lastOutput: String?
    /// Whether it was stopped by a request for it alone, so that a request may start it again.
    var wasStoppedOnRequest = false
    /// Whether nothing is left of it but its place, by which the supervisor counts.
    var isRemoved = false

    /// Nothing is left of the worker.
    ///
    /// - Parameter vacancy: what stands in the places of all removed workers: a host whose workers come and go does not
    ///   grow by what each of them had.
    mutating func remove(leaving vacancy: HostedWorker) {
        self = vacancy
        isRemoved = true
    }
}
