/// Reads a whole JSON text into a tree of located nodes, in time linear in its length.
///
/// The reader is strict where RFC 8259 leaves a choice: no byte order mark, no key twice in an object, no lone
/// surrogates, no integer that 64 bits (and a sign) cannot hold, no number that is infinite as a double.
///
/// Two keys are the same when their scalars are the same, as in this package's CBOR. Swift's `String` would also take
/// the composed and the decomposed spelling of a letter as the same.
package struct JSONReader: Sendable {
    /// The grammar that is accepted.
    package enum Dialect: Sendable, Hashable {
        /// RFC 8259.
        case json
        /// JSON5: comments, trailing commas, bare keys, single quotes, hexadecimal integers, and so on.
        ///
        /// Unlike the specification, the reader refuses `NaN`, `Infinity`, and raw control characters in strings except
        /// tab.
        case json5
    }

    /// The deepest nesting that can be asked for, the same as the wire protocol's.
    ///
    /// The reader recurses once for each level. 64 levels fit the 512 KiB of stack that some threads have, even in a
    /// debug build.
    package static let greatestDepth = 64

    package let dialect: Dialect
    package let maximumDepth: Int
    /// How many values a text may hold, including the values inside arrays and objects.
    ///
    /// A value takes dozens of bytes of memory, though it may be one byte of the text. Set a limit where a text comes
    /// from an untrusted source.
    package let maximumValues: Int

    package init(
        dialect: Dialect = .json,
        maximumDepth: Int = JSONReader.greatestDepth,
        maximumValues: Int = .max
    ) {
        self.dialect = dialect
        self.maximumValues = maximumValues
        self.maximumDepth = min(max(maximumDepth, 0), Self.greatestDepth)
    }

    package func read(_ bytes: [UInt8]) throws(JSONError) -> JSONNode {
        var parser = JSONParser(bytes: bytes, dialect: dialect, maximumDepth: maximumDepth)
        parser.valuesLeft = maximumValues
        try parser.checkEncoding()
        try parser.skipTrivia()
        let root = try parser.readValue(depth: 0)
        try parser.skipTrivia()
        guard parser.isAtEnd else {
            throw parser.error(
                .trailingContent,
                "found \(parser.found()) after the value, expected the end of the text"
            )
        }
        return root
    }

    package func read(_ text: String) throws(JSONError) -> JSONNode {
        try read(Array(text.utf8))
    }
}
