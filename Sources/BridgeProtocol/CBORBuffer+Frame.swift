package import CBOR

extension CBORBuffer {
    /// Appends a frame: the length of its body, then the body.
    ///
    /// - Parameters:
    ///   - payloadBytes: how many bytes of the body the caller appends later.
    ///   - body: writes the rest of the body.
    @inline(__always)
    package func appendFrame(payloadBytes: Int = 0, _ body: (CBORWriter) -> Void) {
        let start = appendHole(FrameDecoder.headBytes)
        body(CBORWriter(self))
        let length = count - start - FrameDecoder.headBytes + payloadBytes
        patch(at: start, withBigEndian: UInt32(clamping: length))
    }
}
