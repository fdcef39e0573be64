import BridgeProtocol

/// The bytes that a link has read and not acted upon yet; they belong to the thread that reads.
final class FrameReader: @unchecked Sendable {
    // Sendable: one thread at a time, and from one to the next it passes under the lock of the link's lane. For the
    // same reason nothing is gained from the exclusivity check, which would be paid three times an event.
    @exclusivity(unchecked) var buffer = ReceiveBuffer()
    @exclusivity(unchecked) var decoder: FrameDecoder
    /// Whether anything has been read.
    var hasBegun = false
    /// The length of the frame in hand.
    @exclusivity(unchecked) private var length = 0
    /// How much of the unfinished frame was there when it last made progress, and when that was.
    private var progress = (bytes: 0, at: UInt64(0))

    /// Less is none: who sends a byte a second keeps a link as busy as who sends nothing.
    private static let leastProgress = 4 << 10

    /// Where the frame lies that a slow thread has in hand.
    @exclusivity(unchecked) private var left: ReceiveBuffer?

    init(limit: Int) {
        decoder = FrameDecoder(limit: limit)
    }

    /// The next whole frame, which stays where it is until ``finishFrame()``; nil if more has to be read first.
    func next() throws(FrameError) -> UnsafeRawBufferPointer? {
        switch try decoder.next(in: buffer.readable) {
        case .needsBytes(let total):
            buffer.makeRoom(for: total)
            return nil
        case .frame(let length):
            self.length = length
            return UnsafeRawBufferPointer(rebasing: buffer.readable[..<length])
        }
    }

    /// When the unfinished frame last made progress, before the next read; 0 if there is none.
    ///
    /// - Parameter arrived: how much was in the buffer before whole frames were taken out of it.
    func frameProgress(since arrived: Int, at now: UInt64) -> UInt64 {
        let rest = buffer.readable.count
        if rest == 0 {
            progress = (0, 0)
        } else if rest != arrived || progress.at == 0 || rest - progress.bytes >= Self.leastProgress {
            progress = (rest, now)
        }
        return progress.at
    }

    /// The calling thread reads on while another still has the frame in hand: that one keeps its memory.
    ///
    /// The frame that was left the time before was the calling thread's own, and is done with.
    func leaveFrame() {
        let rest = UnsafeRawBufferPointer(rebasing: buffer.readable[length...])
        var next = ReceiveBuffer()
        next.makeRoom(for: rest.count)
        next.writable.copyMemory(from: rest)
        next.wasFilled(by: rest.count)
        swap(&buffer, &next)
        left = consume next
        length = 0
    }

    /// The frame in hand is not needed any more.
    func finishFrame() {
        buffer.consume(length)
        length = 0
    }
}
