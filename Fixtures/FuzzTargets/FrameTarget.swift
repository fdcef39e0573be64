import BridgeProtocol
import CBOR
import DomainEvents

/// Frames: a stream gives the same bodies in whatever pieces it arrives, and a frame of any kind that was read is the
/// same after it was written and read again.
package final class FrameTarget: FuzzTarget {
    private let limits = LinkLimits()
    private let buffer = CBORBuffer()

    package init() {}

    package func run(_ input: UnsafeRawBufferPointer) throws {
        try checkBody(input)
        try checkStream(input)
    }

    // MARK: - The stream

    /// The limit is small, so that lengths beyond it are frequent.
    private static let frameLimit = 1 << 12

    private func checkStream(_ input: UnsafeRawBufferPointer) throws {
        let decoder = FrameDecoder(limit: Self.frameLimit)
        let (bodies, end) = try cut(input, decoder)
        for body in bodies { try checkBody(UnsafeRawBufferPointer(rebasing: input[body])) }
        try checkRuns(input, decoder, bodies)
        let left = UnsafeRawBufferPointer(rebasing: input[end...])
        do throws(FrameError) {
            try decoder.end(with: left)
        } catch {
            switch error {
            case .truncated(let have, let need):
                try require(have == left.count && have < need, "\(error) where \(left.count) bytes are left")
                try require(need <= Self.frameLimit + FrameDecoder.headBytes, "\(error) beyond the limit")
            case .tooLarge(let declared, let limit):
                try require(declared > limit && limit == Self.frameLimit, "\(error)")
            case .empty: break
            }
        }
        try checkPieces(input, decoder, bodies)
    }

    /// Decodes a run from each frame on, while all processes that the frames name are known: what the run says of an
    /// event must equal what `EventFrame.decode` reads.
    private func checkRuns(_ input: UnsafeRawBufferPointer, _ decoder: FrameDecoder, _ bodies: [Range<Int>]) throws {
        let heads = bodies.map { try? EventFrame.decode(UnsafeRawBufferPointer(rebasing: input[$0]), limits: limits) }
        var others = SpelledSources()
        for case .other(let origin, let incarnation, _)? in heads.map({ $0?.head.id }) {
            _ = others.spelled(EventSource(origin: origin, incarnation: incarnation))
        }
        try withUnsafeTemporaryAllocation(of: ArrivedEvent.self, capacity: 8) { events in
            for first in bodies.indices {
                let start = bodies[first].lowerBound - FrameDecoder.headBytes
                let front = UnsafeRawBufferPointer(rebasing: input[start...])
                let run = EventFrame.decodeRun(front, with: decoder, others: others, into: events)
                for (event, read) in zip(events[..<run.count], heads[first...]) {
                    let id: WireID =
                        run.source.map { .other(origin: $0.origin, incarnation: $0.incarnation, number: event.number) }
                        ?? .sender(number: event.number)
                    guard let (head, offset) = read, head.isPlain, head.id == id, head.name == .number(run.name),
                        head.sequence == event.sequence, head.nanosecondsSinceEpoch == event.nanosecondsSinceEpoch,
                        head.settledBelow?.asWritten == event.settledBelow,
                        head.cause == event.causes.cause?.wireID, head.root == event.causes.root?.wireID,
                        event.payloadOffset == FrameDecoder.headBytes + offset
                    else { throw BrokenInvariant(description: "in a run \(event), but \(String(describing: read))") }
                }
            }
        }
    }

    /// The places of the bodies of all whole frames, and where the last whole frame ends.
    private func cut(_ input: UnsafeRawBufferPointer, _ decoder: FrameDecoder) throws -> ([Range<Int>], Int) {
        var bodies: [Range<Int>] = []
        var position = 0
        while true {
            let left = UnsafeRawBufferPointer(rebasing: input[position...])
            guard case .frame(let length)? = try? decoder.next(in: left) else { return (bodies, position) }
            try require(
                length > FrameDecoder.headBytes && length <= left.count,
                "a frame of \(length) in \(left.count)"
            )
            bodies.append(position + FrameDecoder.headBytes..<position + length)
            position += length
        }
    }

    /// Checks that a link's receive buffer, filled in pieces whose sizes the input gives, gives the same frames.
    private func checkPieces(_ input: UnsafeRawBufferPointer, _ decoder: FrameDecoder, _ bodies: [Range<Int>]) throws {
        guard !bodies.isEmpty else { return }
        var memory = ReceiveBuffer()
        var position = 0
        var found = 0
        while position < input.count {
            let piece = min(Int(input[position] & 31) + 1, input.count - position, memory.writable.count)
            memory.writable.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[position..<position + piece]))
            memory.wasFilled(by: piece)
            position += piece
            frames: while true {
                guard let step = try? decoder.next(in: memory.readable) else {
                    try require(found == bodies.count, "\(found) frames in pieces, \(bodies.count) at once")
                    return
                }
                switch step {
                case .needsBytes(let total):
                    memory.makeRoom(for: total)
                    break frames
                case .frame(let length):
                    let body = memory.readable[FrameDecoder.headBytes..<length]
                    try require(
                        found < bodies.count && body.elementsEqual(input[bodies[found]]),
                        "frame \(found) is another in pieces"
                    )
                    memory.consume(length)
                    found += 1
                }
            }
        }
        try require(found == bodies.count, "\(found) frames in pieces, \(bodies.count) at once")
    }

    // MARK: - A body

    private func checkBody(_ body: UnsafeRawBufferPointer) throws {
        var readers = 0
        if try checkMessage(body) { readers += 1 }
        if try checkEvent(body) { readers += 1 }
        if try checkGap(body) { readers += 1 }
        if try checkPlaced(body) { readers += 1 }
        try require(readers <= 1, "\(readers) kinds of frame in one")
    }

    /// Reads a body that may be of any kind, as a link does; if it is refused, checks the error and returns nil.
    private func read<T>(_ body: UnsafeRawBufferPointer, _ read: () throws -> T) throws -> T? {
        do {
            return try read()
        } catch let error as CBORError {
            try require((0...body.count).contains(error.offset), "\(error) lies outside \(body.count) bytes")
        } catch let error as LinkViolation {
            try require(!error.description.isEmpty && error.description.utf8.count < 2_000, "\(error)")
        }
        return nil
    }

    /// The body of the frame that was just written; checks the frame's length.
    private func writtenBody() throws -> UnsafeRawBufferPointer {
        let frame = buffer.bytes
        let step = try FrameDecoder(limit: 1 << 20).next(in: frame)
        try require(step == .frame(length: frame.count), "wrote a frame of \(frame.count) bytes that says \(step)")
        return UnsafeRawBufferPointer(rebasing: frame[FrameDecoder.headBytes...])
    }

    private func checkMessage(_ body: UnsafeRawBufferPointer) throws -> Bool {
        guard let read = try read(body, { try ControlMessage(decoding: body, limits: limits) }) else { return false }
        // One level of nesting more than the content of a frame may have.
        var reader = CBORReader(body, limits: CBORLimits(maximumDepth: CBORLimits.standard.maximumDepth + 1))
        try reader.skipItem()
        try require(reader.isAtEnd, "a message with \(reader.bytesLeft) bytes behind it")
        guard let message = read else { return true }
        buffer.removeAll()
        message.encode(into: buffer)
        let again = try ControlMessage(decoding: try writtenBody(), limits: limits)
        try require(again == message, "\(message) came back as \(String(describing: again))")
        return true
    }

    private func checkEvent(_ body: UnsafeRawBufferPointer) throws -> Bool {
        guard let (head, offset) = try read(body, { try EventFrame.decode(body, limits: limits) }) else { return false }
        try require(offset > 0 && offset < body.count, "a payload at \(offset) of \(body.count)")
        // The cut leaves so few bytes behind the head that the decoder does not take its fast path.
        let cut = UnsafeRawBufferPointer(rebasing: body[...offset])
        let (general, generalOffset) = try EventFrame.decode(cut, limits: limits)
        try require(general == head && generalOffset == offset, "read as \(head), with less behind it as \(general)")
        buffer.removeAll()
        EventFrame.encodeHead(head, payloadBytes: body.count - offset, into: buffer)
        buffer.append(UnsafeRawBufferPointer(rebasing: body[offset...]))
        let written = try writtenBody()
        let (again, start) = try EventFrame.decode(written, limits: limits)
        try require(again == head, "\(head) came back as \(again)")
        try require(written[start...].elementsEqual(body[offset...]), "the payload of \(head) came back as another")
        return true
    }

    private func checkGap(_ body: UnsafeRawBufferPointer) throws -> Bool {
        guard let gap = try read(body, { try GapFrame(decoding: body, limits: limits) }) else { return false }
        buffer.removeAll()
        gap.encode(into: buffer)
        let again = try GapFrame(decoding: try writtenBody(), limits: limits)
        try require(again == gap, "\(gap) came back as \(again)")
        return true
    }

    private func checkPlaced(_ body: UnsafeRawBufferPointer) throws -> Bool {
        guard let placed = try read(body, { try PlacedFrame(decoding: body) }) else { return false }
        buffer.removeAll()
        buffer.advance(by: placed.encode(at: buffer.reserve(PlacedFrame.maximumBytes)))
        let again = try PlacedFrame(decoding: try writtenBody())
        try require(again == placed, "\(placed) came back as \(again)")
        for byteCount in [0, 5, 4_096, 1 << 20, Int.max] {
            guard let range = try? placed.range(in: byteCount, limit: Self.frameLimit) else { continue }
            try require(range.lowerBound >= 0 && range.upperBound <= byteCount, "\(range) of \(byteCount) bytes")
            try require(range.count <= Self.frameLimit + FrameDecoder.headBytes, "\(range) is beyond the limit")
            // Only a range inside the input can be checked, because the input stands for the shared memory.
            guard range.upperBound <= body.count else { continue }
            _ = try? placed.check(UnsafeRawBufferPointer(rebasing: body[range]), limits: limits)
        }
        return true
    }
}
