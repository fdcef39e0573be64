extension FixedWidthInteger {
    /// The sum of two numbers that are not negative, or the greatest number there is.
    ///
    /// For what files say of themselves: a sparse file may have any length, and a gap any count.
    package func saturatingSum(_ other: Self) -> Self {
        let (sum, isTooGreat) = addingReportingOverflow(other)
        return isTooGreat ? .max : sum
    }
}
