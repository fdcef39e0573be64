extension FixedWidthInteger {
    /// The sum of two numbers that are not negative, or the type's greatest number if the sum overflows.
    ///
    /// This is for numbers that come from files: a sparse file may have any length, and a gap may have any count.
    package func saturatingSum(_ other: Self) -> Self {
        let (sum, isTooGreat) = addingReportingOverflow(other)
        return isTooGreat ? .max : sum
    }
}
