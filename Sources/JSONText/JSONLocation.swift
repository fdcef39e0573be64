/// A place in a JSON text, for people (line and column) and for programs (offset).
///
/// Lines and columns count from 1, a column is one Unicode scalar, and the offset counts bytes from 0.
package struct JSONLocation: Sendable, Hashable, CustomStringConvertible {
    package let line: Int
    package let column: Int
    package let offset: Int

    package init(line: Int, column: Int, offset: Int) {
        self.line = line
        self.column = column
        self.offset = offset
    }

    package var description: String { "line \(line), column \(column)" }
}

/// Turns byte offsets into locations.
///
/// As long as offsets only grow, all of them together cost one walk over the text. So a tree with a location in every
/// node is made in linear time. A smaller offset would start the walk anew; the parser asks for none.
struct JSONLocator {
    private let bytes: [UInt8]
    private var line = 1
    private var column = 1
    private var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func location(at target: Int) -> JSONLocation {
        let target = min(max(target, 0), bytes.count)
        if target < offset {
            line = 1
            column = 1
            offset = 0
        }
        while offset < target {
            advance()
        }
        return JSONLocation(line: line, column: column, offset: offset)
    }

    private mutating func advance() {
        let byte = bytes[offset]
        offset += 1
        switch byte {
        case UInt8(ascii: "\n"):
            line += 1
            column = 1
        case UInt8(ascii: "\r") where offset >= bytes.count || bytes[offset] != UInt8(ascii: "\n"):
            line += 1
            column = 1
        case 0x80...0xBF:
            // A continuation byte belongs to the scalar that an earlier byte began.
            break
        default:
            column += 1
        }
    }
}
