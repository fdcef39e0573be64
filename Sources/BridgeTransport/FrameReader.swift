import BridgeProtocol

/// The bytes that a link has read and not acted upon yet; only the thread that reads uses them.
final class FrameReader: @unchecked Sendable {
    // Sendable: one thread at a time uses it, and it passes to the next thread under the lock of the link's strand. So
    // the exclusivity check gains nothing, and each event would pay for it three times.
    @exclusivity(unchecked) var buffer = ReceiveBuffer()
    @exclusivity(unchecked) var decoder: FrameDecoder
    /// Whether anything has been read.
    var hasBegun = false
    /// The length of the frame in hand.
    @exclusivity(unchecked) private var length = 0
    /// When the unfinished frame last made progress, and how many of its bytes were there at that time.
    private var progress = (bytes: 0, at: UInt64(0))

    /// The fewest bytes that are progress: a peer that sends one byte a second counts as a peer that sends nothing.
    private static let leastProgress = 4 << 10

    /// Holds the frame that a slow thread has in hand.
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

    /// Notes the progress of the unfinished frame before the next read, and returns when it last made progress; 0 if no
    /// frame is unfinished.
    ///
    /// - Parameter arrived: how many bytes were in the buffer before whole frames were taken out of it.
    func frameProgress(since arrived: Int, at now: UInt64) -> UInt64 {
        let rest = buffer.readable.count
        if rest == 0 {
            progress = (0, 0)
        } else if rest != arrived || progress.at == 0 || rest - progress.bytes >= Self.leastProgress {
            progress = (rest, now)
        }
        return progress.at
    }

    /// The calling thread reads on while another thread still has the frame in hand: that other thread keeps the
    /// frame's memory.
    ///
    /// A frame that was left before was the calling thread's own; the calling thread is done with it.
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
