extension Collection where Element == Double {
    /// The middle value, or the mean of the two middle values; nil if there are no values.
    var median: Double? {
        let sorted = sorted()
        guard !sorted.isEmpty else { return nil }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
