import DomainEvents

/// Keeps the sources of an outbox's events alive as long as a record names them.
///
/// A queue of runs: a run is a row of events with one source. Runs are freed in the order in which they came, so no
/// search through all runs is needed. A peer chooses their number, because one source may have many runs.
struct KeptSources {
    private struct Run {
        /// Nil once the run is freed.
        var source: EventSource?
        /// The sequence of the run's first event; the run ends before the first event of the next run.
        let first: UInt64
    }

    /// Oldest first; the last one is the newest event's.
    private var runs: [Run] = []
    /// The place of the first run that is not freed: freed runs are removed now and then, not one by one.
    private var oldest = 0
    private var newest: UnsafeMutableRawPointer?

    /// Fewer freed runs than this stay in the array.
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
        // If one run is left, the array's room for many runs is freed, too.
        if oldest + 1 == runs.count { runs = [runs[oldest]] } else { runs.removeFirst(oldest) }
        oldest = 0
    }
}
