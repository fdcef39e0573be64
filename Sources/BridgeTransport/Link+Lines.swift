import BridgeProtocol
import Locks

/// Peers that speak in lines.
extension Link {
    /// Whether the peer speaks in lines.
    package var speaksLines: Bool { lock.withLock { isInLines } }

    /// The peer has spoken: its first byte says in which encoding, and from now on it may be answered.
    ///
    /// On the reading thread.
    ///
    /// - Returns: What to read from in the place of `stream`, with nothing left in the reader if it is another one.
    func begin(_ stream: any ByteStream, with reader: FrameReader) -> any ByteStream {
        reader.hasBegun = true
        guard role == .host else { return stream }
        guard reader.buffer.readable.first == LinesTranslator.firstByte else {
            lock.withLock { writer.streamTakesMore() }
            return stream
        }
        let lines = LinesStream(
            over: stream,
            begunWith: reader.buffer.readable,
            peerName: peerName,
            limits: limits
        )
        reader.buffer.consume(reader.buffer.readable.count)
        lock.withLock {
            self.stream = lines
            isInLines = true
            receiving.beginLines(limits)
            writer.streamTakesMore()
        }
        return lines
    }
}
