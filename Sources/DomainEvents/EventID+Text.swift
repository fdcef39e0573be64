extension EventID: LosslessStringConvertible {
    /// Parses what ``description`` writes: `origin-incarnation-number`; nil for any other text.
    ///
    /// The parsing begins at the text's end, because an origin may have hyphens.
    public init?(_ text: String) {
        guard let second = text.utf8.lastIndex(of: UInt8(ascii: "-")),
            let first = text.utf8[..<second].lastIndex(of: UInt8(ascii: "-")), first > text.startIndex,
            let number = UInt64(text[text.utf8.index(after: second)...]),
            let incarnation = UInt64(text[text.utf8.index(after: first)..<second], radix: 16)
        else { return nil }
        self.init(origin: String(text[..<first]), incarnation: incarnation, number: number)
        // No signs and no leading zeros: each identifier has exactly one text.
        guard description == text else { return nil }
    }
}
