import DomainEvents

/// The sources of the events in an outbox, which must stay alive as long as a record names them.
///
/// A queue of runs of events with one source, which are freed in the order in which they came. So neither a new run nor
/// the end of one looks through the others, whose number a peer chooses: a source may have many runs here.
struct KeptSources {
    private struct Run {
        /// Nil once the run is freed.
        var source: EventSource?
        /// The sequence of its first event; the run ends before that of the next run.
        let first: UInt64
    }

    /// Oldest first; the last one is the newest event's.
    private var runs: [Run] = []
    /// The place of the first run that is not freed: freed ones are removed now and then, not one by one.
    private var oldest = 0
    private var newest: UnsafeMutableRawPointer?

    /// How many freed runs may stay in the array.
    private static let fewRuns = 64

    /// Keeps the source of the newest event.
    @inline(__always)
    mutating func keep(_ source: EventSource, of sequence: UInt64) {
        // Comparing addresses changes no reference count.
        if newest != Unmanaged.passUnretained(source).toOpaque() { add(source, sequence) }
    }

    private mutating func add(_ source: EventSource, _ sequence: UInt64) {
        newest = Unmanaged.passUnretained(source).toOpaque()
        runs.append(Run(source: source, first: sequence))
    }

    /// Releases the sources that no event names any more; the newest event's source stays.
    ///
    /// - Parameter first: the oldest event that is kept.
    @inline(__always)
    mutating func release(before first: UInt64) {
        if runs.count - oldest > 1 { releaseRuns(before: first) }
    }

    private mutating func releaseRuns(before first: UInt64) {
        while oldest + 1 < runs.count, runs[oldest + 1].first <= first {
            runs[oldest].source = nil
            oldest += 1
        }
        guard oldest >= Self.fewRuns, oldest > runs.count / 2 else { return }
        // The room for many runs goes back with the last of them.
        if oldest + 1 == runs.count { runs = [runs[oldest]] } else { runs.removeFirst(oldest) }
        oldest = 0
    }
}
