extension RandomAccessCollection {
    /// The index of the first element that belongs to the second part; `endIndex` if none does.
    ///
    /// The search goes by halves, so all elements of the first part must come before those of the second one. The
    /// function of this name in Apple's package Algorithms does the same.
    @inlinable
    package func partitioningIndex(where isInSecondPart: (Element) -> Bool) -> Index {
        var (low, count) = (startIndex, self.count)
        while count > 0 {
            let half = count / 2
            let middle = index(low, offsetBy: half)
            if isInSecondPart(self[middle]) {
                count = half
            } else {
                low = index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}
