extension String {
    /// The beginning of a text that is bound for a frame or a report.
    ///
    /// Counted in scalars, of at most four bytes each: one character may be made of any number of them.
    package func shortened(toScalars count: Int = 1_024) -> String {
        String(String.UnicodeScalarView(unicodeScalars.prefix(count)))
    }
}
