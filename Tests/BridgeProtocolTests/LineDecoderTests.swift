import BridgeProtocol
import Testing

@Suite("Lines in a stream")
struct LineDecoderTests {
    /// The lines of a text that arrives in pieces of `size` bytes.
    private func lines(_ text: String, limit: Int = 100, pieces size: Int) throws -> [String] {
        var decoder = LineDecoder(limit: limit)
        var buffer: [UInt8] = []
        var found: [String] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            buffer += rest.prefix(size)
            rest = rest.dropFirst(size)
            while case .line(let length) = try buffer.withUnsafeBytes({ try decoder.next(in: $0) }) {
                found.append(String(decoding: buffer[..<(length - 1)], as: UTF8.self))
                buffer.removeFirst(length)
            }
        }
        return found
    }

    @Test("the same lines are found in whatever pieces they arrive", arguments: 1...12)
    func pieces(size: Int) throws {
        let found = try lines("{\"a\":1}\n\n{\"b\":\"é\"}\nrest", pieces: size)
        #expect(found == ["{\"a\":1}", "", "{\"b\":\"é\"}"])
    }

    @Test("a line as long as the limit is taken, a longer one is a violation, whole or not", arguments: [1, 3, 100])
    func limit(size: Int) throws {
        #expect(try lines("12345\n", limit: 5, pieces: size) == ["12345"])
        for text in ["123456\n", "123456"] {
            #expect(throws: LinkViolation("a line of more than 5 bytes arrived; the limit is 5 bytes")) {
                try lines(text, limit: 5, pieces: size)
            }
        }
    }

    @Test("never more room is asked for than the longest line takes")
    func room() throws {
        var decoder = LineDecoder(limit: 10)
        let bytes = [UInt8](repeating: UInt8(ascii: "1"), count: 8)
        let step = try bytes.withUnsafeBytes { try decoder.next(in: $0) }
        #expect(step == .needsBytes(total: 11))
    }
}
