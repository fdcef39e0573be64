extension Collection where Element == Double {
    /// The value in the middle, or between the two in the middle; nil if there is none.
    var median: Double? {
        let sorted = sorted()
        guard !sorted.isEmpty else { return nil }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
