import CBOR

extension String {
    /// The beginning of a text that goes into a frame or a report.
    ///
    /// The length is counted in scalars, which have at most four bytes each; a character may have any number of
    /// scalars.
    package func shortened(toScalars count: Int = 1_024) -> String {
        if utf8.count <= count { return self }
        return String(String.UnicodeScalarView(unicodeScalars.prefix(count)))
    }
}

extension CBORReader {
    /// Reads a text for people, and keeps its beginning.
    ///
    /// Dead letters keep the texts of refusals, and their bound does not count them.
    mutating func readShortText() throws(CBORError) -> String { try readText().shortened() }
}
