extension OutboxState {
    /// The oldest event of `sequences` that was begun and not finished; nil if all are finished.
    ///
    /// The search covers only the newest of `sequences`, as many as the bits tell apart.
    package func oldestOpen(in sequences: ClosedRange<UInt64>) -> UInt64? {
        let last = sequences.upperBound
        let first = max(sequences.lowerBound, last - min(last, OutboxLayout.openEvents - 1))
        return (first...last).first(where: isOpen)
    }
}
