import BridgeProtocol
import TestSupport
import Testing

@testable import BridgeTransport

@Suite("The frames that a link has read")
struct FrameReaderTests {
    private func read(_ bytes: some Collection<UInt8>, into reader: FrameReader) {
        reader.buffer.makeRoom(for: reader.buffer.readable.count + bytes.count)
        reader.buffer.writable.copyBytes(from: bytes)
        reader.buffer.wasFilled(by: bytes.count)
    }

    /// A frame with an event of this many bytes.
    private func frame(_ byteCount: Int) -> [UInt8] {
        let head = EventHead(sequence: 1, id: .sender(number: 1), nanosecondsSinceEpoch: 1, name: .text("A"))
        return TestSupport.frame(head, payload: [UInt8](repeating: 0, count: byteCount))
    }

    @Test("an unfinished frame has no time of the frame before it, which another thread keeps")
    func frameBehindOneThatIsLeft() throws {
        let reader = FrameReader(limit: 1 << 20)
        let first = frame(3_000)
        read(first[..<2_000], into: reader)
        #expect(try reader.next() == nil)
        #expect(reader.frameProgress(since: 0, at: 100) == 100)
        read(first[2_000...] + frame(3_000)[..<1_000], into: reader)
        #expect(try reader.next()?.count == first.count)
        reader.leaveFrame()
        #expect(try reader.next() == nil)
        #expect(reader.frameProgress(since: 1_000, at: 500) == 500)
        // One byte is no progress.
        read([0], into: reader)
        #expect(reader.frameProgress(since: 1_001, at: 900) == 500)
    }
}
