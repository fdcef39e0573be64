/// Finds the lines in a stream of bytes, however the stream is split.
package struct LineDecoder: Sendable {
    /// The longest line that is accepted now, without its newline.
    package var limit: Int

    /// How many of the bytes so far were searched and hold no newline: no byte is searched twice.
    private var searched = 0

    package init(limit: Int) {
        self.limit = limit
    }

    /// Whether the bytes so far begin with a whole line.
    package enum Step: Equatable {
        /// A whole line of this many bytes, newline included.
        case line(length: Int)
        /// The beginning of a line; a buffer of this many bytes is enough for now.
        case needsBytes(total: Int)
    }

    /// Checks whether `bytes` begin with a whole line.
    ///
    /// After a call that found no line, the caller passes the same bytes again, with more bytes after them.
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
        // The buffer doubles each time, so that a long line is not moved for every read.
        return .needsBytes(total: min(2 * bytes.count, limit) + 1)
    }
}
