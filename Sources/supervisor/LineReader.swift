import BridgePlatform

/// Splits a file into lines; needs memory for the longest line, up to the limit.
struct LineReader {
    /// A line of the file.
    enum Line: Sendable, Hashable {
        case line([UInt8])
        /// The line was longer than the limit and is left out.
        case tooLong
    }

    /// The most bytes of a line: as many as the default frame limit of a link.
    static let greatestLength = 16 << 20

    private let greatestLength: Int
    private let read: () throws(SystemFileError) -> [UInt8]
    private var chunk: ArraySlice<UInt8> = []
    private var isAtEnd = false

    /// - Parameter read: returns the next bytes; an empty array at the end.
    init(greatestLength: Int = LineReader.greatestLength, read: @escaping () throws(SystemFileError) -> [UInt8]) {
        self.greatestLength = greatestLength
        self.read = read
    }

    /// The next line without its end; nil after the last one.
    mutating func next() throws(SystemFileError) -> Line? {
        var line: [UInt8] = []
        var isTooLong = false
        var hasBegun = false
        while true {
            if chunk.isEmpty, !isAtEnd {
                chunk = try read()[...]
                isAtEnd = chunk.isEmpty
            }
            if isAtEnd {
                guard hasBegun else { return nil }
                return isTooLong ? .tooLong : .line(line)
            }
            hasBegun = true
            let end = chunk.firstIndex(of: UInt8(ascii: "\n"))
            let piece = chunk[..<(end ?? chunk.endIndex)]
            isTooLong = isTooLong || line.count + piece.count > greatestLength
            if isTooLong { line = [] } else { line += piece }
            chunk = chunk[(end.map { $0 + 1 } ?? chunk.endIndex)...]
            if end != nil { return isTooLong ? .tooLong : .line(line) }
        }
    }
}
