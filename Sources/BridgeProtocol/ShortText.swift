extension String {
    /// The beginning of a text that goes into a frame or a report.
    ///
    /// The length is counted in scalars, which have at most four bytes each; a character may have any number of
    /// scalars.
    package func shortened(toScalars count: Int = 1_024) -> String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(count)))
    }
}
