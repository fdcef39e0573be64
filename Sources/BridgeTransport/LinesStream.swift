import BridgePlatform
import BridgeProtocol
import CBOR
import Locks

/// A stream of frames over a stream of lines: to the link, a worker that speaks in lines is like any other.
///
/// It reads lines and hands them on as frames, and takes frames and writes them as lines. It keeps nothing beyond the
/// current batch. It reads nothing from a worker that has sent more than may wait for the host's handlers. A frame
/// counts as written when its line is written.
final class LinesStream: ByteStream, @unchecked Sendable {
    // Sendable: what both threads use is guarded by `lock`; the rest belongs to the reading thread or to the writing
    // thread.
    private let stream: any ByteStream
    private let limits: LinkLimits

    private let lock = Lock()
    /// Signalled when the worker may go on, or when the reading thread need not wait for that any more.
    private let changed: Condition
    private var translator: LinesTranslator
    private var found: StreamFinding?
    /// Whether nothing is acknowledged any more; what has arrived is then handed on without waiting for room.
    private var isOver = false
    /// Whether the host has rejected the worker.
    private var isRejected = false

    // The thread that reads.
    private var lines = ReceiveBuffer()
    private var decoder: LineDecoder
    private let frames = CBORBuffer(minimumCapacity: 4_096)
    private var framesRead = 0
    /// How many of the frames' bytes are the hello, until the host has judged it; nil before and after that.
    private var helloBytes: Int?
    /// Whether what the worker writes is dropped, because the worker was rejected.
    private var isDropping = false
    /// An event for which there is no room yet.
    private var waiting: LineMessage?

    // The thread that writes.
    private var framesToSend = ReceiveBuffer()
    private var linesToSend: [UInt8] = []
    private var linesSent = 0
    /// Bytes of a batch that was taken whole but not reported as written, because not all of its lines were written.
    private var unreported = 0

    /// From this many bytes of frames on, the frames are handed on before more lines are read.
    private static let batchBytes = 64 << 10

    /// - Parameter begun: the bytes of the stream that have been read already.
    init(over stream: any ByteStream, begunWith begun: UnsafeRawBufferPointer, peerName: String, limits: LinkLimits) {
        self.stream = stream
        self.limits = limits
        changed = Condition(lock: lock)
        translator = LinesTranslator(peerName: peerName, limits: limits)
        decoder = LineDecoder(limit: limits.handshakeFrameBytes)
        lines.makeRoom(for: begun.count)
        lines.writable.copyMemory(from: begun)
        lines.wasFilled(by: begun.count)
    }

    var memory: MemoryFile? { stream.memory }
    var shelf: MemoryFile? { stream.shelf }
    var finding: StreamFinding? { lock.withLock { found } }

    // MARK: - Reading

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        while true {
            if let helloBytes, framesRead == helloBytes { helloWasJudged() }
            if framesRead < frames.count { return takeFrames(into: buffer) }
            guard finding == nil else { return .endOfStream }
            do throws(LinkViolation) {
                if isDropping {
                    lines.consume(lines.readable.count)
                } else if try translateLines() {
                    continue
                }
            } catch {
                // The lines before the error are handed on all the same.
                fail(.violation(error.description))
                continue
            }
            let outcome = stream.read(into: lines.writable)
            switch outcome {
            case .transferred(let count): lines.wasFilled(by: count)
            case .endOfStream where !lines.readable.isEmpty:
                fail(.torn("the stream ended inside a line: \(lines.readable.count) bytes of it had arrived"))
            case .endOfStream, .wouldBlock, .descriptorsPassed, .failed: return outcome
            }
        }
    }

    private func takeFrames(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        let count = min(buffer.count, (helloBytes ?? frames.count) - framesRead)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: frames.bytes[framesRead..<framesRead + count]))
        framesRead += count
        if framesRead == frames.count {
            frames.removeAll(keepingCapacity: frames.count <= Self.batchBytes)
            framesRead = 0
        }
        return .transferred(count)
    }

    /// Called when the link reads on after the hello, and so has acted upon it.
    ///
    /// What the worker has written after its hello counts only if the host has accepted the worker. Otherwise it is
    /// dropped, and is no breach of the protocol: the worker may have written it before it could read the reject.
    private func helloWasJudged() {
        helloBytes = nil
        isDropping = lock.withLock { isRejected }
        guard isDropping else { return }
        frames.removeAll()
        framesRead = 0
    }

    /// Makes frames of the lines that have been read; false if more bytes must be read first.
    private func translateLines() throws(LinkViolation) -> Bool {
        while frames.count < Self.batchBytes, let message = try nextMessage() {
            if case .event = message, !hasRoom(waits: frames.isEmpty) {
                waiting = message
                return true
            }
            try lock.withLock { () throws(LinkViolation) in
                try translator.received(message, at: WallClock.now(), into: frames)
            }
            // How long the lines after the hello may be is known only once the host has read the hello.
            if case .hello = message {
                if case .frame(let length)? = try? FrameDecoder(limit: frames.count).next(in: frames.bytes) {
                    helloBytes = length
                }
                return true
            }
        }
        return !frames.isEmpty
    }

    private func nextMessage() throws(LinkViolation) -> LineMessage? {
        if let message = waiting.take() { return message }
        if decoder.limit != limits.frameBytes, lock.withLock({ translator.isWelcomed }) {
            decoder.limit = limits.frameBytes
        }
        while true {
            switch try decoder.next(in: lines.readable) {
            case .needsBytes(let total):
                lines.makeRoom(for: total)
                return nil
            case .line(let length):
                defer { lines.consume(length) }
                let line = UnsafeRawBufferPointer(rebasing: lines.readable[..<(length - 1)])
                // A blank line is skipped.
                if line.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: " ") }) { continue }
                return try LineMessage(line, limits: limits)
            }
        }
    }

    /// Whether an event of the worker may be taken; `waits` says whether to wait until it may be taken.
    private func hasRoom(waits: Bool) -> Bool {
        lock.withLock {
            while waits, !translator.hasRoom, !isOver { changed.wait() }
            return translator.hasRoom || isOver
        }
    }

    private func fail(_ finding: StreamFinding) {
        lock.withLock { found = found ?? finding }
    }

    // MARK: - Writing

    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        if let outcome = sendLines() { return outcome }
        let count = pieces.reduce(0) { $0 + $1.count }
        var known = unreported
        unreported = 0
        do {
            for piece in pieces {
                let skipped = min(known, piece.count)
                known -= skipped
                try take(UnsafeRawBufferPointer(rebasing: piece[skipped...]))
            }
        } catch {
            // This happens only if this process wrote something that is no frame.
            fail(.torn(String(describing: error)))
            stream.close()
            return .endOfStream
        }
        switch sendLines() {
        case .wouldBlock:
            // Reports all but the last byte of the batch: the writer comes back with that byte when there is room. The
            // batch counts as written when its lines are written.
            unreported = 1
            return count > 1 ? .transferred(count - 1) : .wouldBlock
        case .some(let outcome): return outcome
        case nil: return .transferred(count)
        }
    }

    /// Makes lines of the frames that are whole.
    private func take(_ piece: UnsafeRawBufferPointer) throws {
        framesToSend.makeRoom(for: framesToSend.readable.count + piece.count)
        framesToSend.writable.copyMemory(from: piece)
        framesToSend.wasFilled(by: piece.count)
        let own = FrameDecoder(limit: Int(UInt32.max))
        try lock.withLock {
            defer { changed.broadcast() }
            while case .frame(let length) = try own.next(in: framesToSend.readable) {
                let body = framesToSend.readable[FrameDecoder.headBytes..<length]
                try translator.sent(UnsafeRawBufferPointer(rebasing: body), into: &linesToSend)
                framesToSend.consume(length)
            }
        }
    }

    /// Writes the lines that are left; returns nil if all of them are written.
    private func sendLines() -> IOOutcome? {
        while linesSent < linesToSend.count {
            let outcome = linesToSend.withUnsafeBytes { bytes in
                stream.write([UnsafeRawBufferPointer(rebasing: bytes[linesSent...])])
            }
            guard case .transferred(let count) = outcome else {
                if outcome != .wouldBlock { end() }
                return outcome
            }
            linesSent += count
        }
        linesToSend.removeAll(keepingCapacity: linesToSend.count <= Self.batchBytes)
        linesSent = 0
        return nil
    }

    func whenWritable(_ body: @escaping @Sendable () -> Void) {
        stream.whenWritable(body)
    }

    // MARK: - The end

    /// The host has rejected the worker: what follows the hello is dropped.
    func peerWasRejected() { lock.withLock { isRejected = true } }

    func finishWriting() {
        end()
        stream.finishWriting()
    }

    func finishReading() {
        end()
        stream.finishReading()
    }

    func close() {
        end()
        stream.close()
    }

    private func end() {
        lock.withLock {
            isOver = true
            changed.broadcast()
        }
    }
}
