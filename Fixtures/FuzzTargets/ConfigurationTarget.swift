import JSONText

/// JSON and JSON5 texts, and what `supervisor` reads from them: its configuration, and the events of its input.
package final class ConfigurationTarget: FuzzTarget {
    private let parse: (_ text: [UInt8]) throws -> Void
    private let readLine: (_ text: [UInt8]) throws -> Void

    /// - Parameters:
    ///   - parse: reads a configuration's text, as if from a file called `f`.
    ///   - readLine: reads a line of input.
    package init(parse: @escaping ([UInt8]) throws -> Void, readLine: @escaping ([UInt8]) throws -> Void) {
        self.parse = parse
        self.readLine = readLine
    }

    /// Reads only JSON and JSON5 texts, no configuration and no input.
    package convenience init() {
        self.init(parse: { _ in }, readLine: { _ in })
    }

    package func run(_ input: UnsafeRawBufferPointer) throws {
        let bytes = Array(input)
        try JSONChecks.check(reading: bytes)
        try checkConfiguration(bytes)
        do {
            try readLine(bytes)
        } catch {
            try require(!"\(error)".isEmpty, "a mistake without a sentence")
        }
    }

    /// Each line of an error begins with the place of a mistake in the file.
    private func checkConfiguration(_ bytes: [UInt8]) throws {
        do {
            try parse(bytes)
        } catch {
            let lines = bytes.count { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } + 1
            for line in "\(error)".split(separator: "\n", omittingEmptySubsequences: false) {
                let parts = line.split(separator: ":", maxSplits: 3)
                guard parts.count == 4, parts[0] == "f", let number = Int(parts[1]), let column = Int(parts[2]) else {
                    throw BrokenInvariant(description: "a mistake without a place: \(line)")
                }
                try require(
                    (1...lines).contains(number) && (1...bytes.count + 1).contains(column),
                    "a mistake outside the text: \(line)"
                )
                // The part of the text that an error shows is cut where it is long.
                try require(line.utf8.count < 2_000, "a mistake of \(line.utf8.count) bytes")
            }
        }
    }
}
