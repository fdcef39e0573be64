/// Finds the lines in a stream of bytes, whatever the pieces in which it arrives.
package struct LineDecoder: Sendable {
    /// The longest line that is accepted now, its end left out.
    package var limit: Int

    /// How many of the bytes at hand are known to hold no end of a line: none is looked at twice.
    private var searched = 0

    package init(limit: Int) {
        self.limit = limit
    }

    /// What the bytes at hand amount to.
    package enum Step: Equatable {
        /// A whole line, so long together with its end.
        case line(length: Int)
        /// The beginning of a line; room for so many bytes is enough for now.
        case needsBytes(total: Int)
    }

    /// Looks at the beginning of `bytes`.
    ///
    /// As long as no line was found, these are the bytes of the last time, with more behind them.
    package mutating func next(in bytes: UnsafeRawBufferPointer) throws(LinkViolation) -> Step {
        let unsearched = bytes[min(searched, bytes.count)...]
        let end = unsearched.firstIndex(of: UInt8(ascii: "\n"))
        guard end ?? bytes.count <= limit else {
            throw LinkViolation("a line of more than \(limit) bytes arrived; the limit is \(limit) bytes")
        }
        if let end {
            searched = 0
            return .line(length: end + 1)
        }
        searched = bytes.count
        // Twice as much each time: a long line is not moved for every read.
        return .needsBytes(total: min(2 * bytes.count, limit) + 1)
    }
}
