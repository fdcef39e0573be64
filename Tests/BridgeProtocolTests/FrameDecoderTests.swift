import BridgeProtocol
import TestSupport
import Testing

@Suite("Frames in a stream")
struct FrameDecoderTests {
    /// Feeds `stream` in pieces that end at the given places; returns the bodies and the bytes that were left.
    private func frames(
        in stream: [UInt8],
        endingAt ends: [Int],
        limit: Int = 1 << 16
    ) throws -> (bodies: [[UInt8]], left: [UInt8]) {
        var bodies: [[UInt8]] = []
        var held: [UInt8] = []
        var start = 0
        let decoder = FrameDecoder(limit: limit)
        for end in ends + [stream.count] where end >= start {
            held += stream[start..<end]
            start = end
            frames: while true {
                switch try held.withUnsafeBytes({ try decoder.next(in: $0) }) {
                case .frame(let length):
                    bodies.append(bodyOf(Array(held[..<length])))
                    held.removeFirst(length)
                case .needsBytes(let total):
                    #expect(total > held.count)
                    break frames
                }
            }
        }
        return (bodies, held)
    }

    private func stream(of bodies: [[UInt8]]) -> [UInt8] {
        var stream: [UInt8] = []
        for body in bodies {
            withUnsafeBytes(of: UInt32(body.count).bigEndian) { stream += $0 }
            stream += body
        }
        return stream
    }

    @Test("the same frames come out wherever a stream of every message is split in two")
    func everySplit() throws {
        let stream = sampleMessages.flatMap { frame($0) }
        let expected = sampleMessages.map { bodyOf(frame($0)) }
        for split in 0...stream.count {
            let found = try frames(in: stream, endingAt: [split])
            #expect(found.bodies == expected, "split at \(split)")
            #expect(found.left.isEmpty)
        }
    }

    @Test("the same frames come out of a stream that arrives byte by byte")
    func dripFeed() throws {
        let stream = sampleMessages.flatMap { frame($0) }
        #expect(
            try frames(in: stream, endingAt: Array(0...stream.count)).bodies == sampleMessages.map { bodyOf(frame($0)) }
        )
    }

    @Test("the same frames come out of random bodies in random pieces")
    func randomPieces() throws {
        var random = SeededGenerator.announced()
        for round in 0..<300 {
            let bodies = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                (0..<Int.random(in: 1...400, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            let stream = stream(of: bodies)
            let ends = (0..<Int.random(in: 0...40, using: &random))
                .map { _ in Int.random(in: 0...stream.count, using: &random) }.sorted()
            let found = try frames(in: stream, endingAt: ends)
            #expect(found.bodies == bodies, "seed \(random.seed), round \(round)")
            #expect(found.left.isEmpty)
        }
    }

    @Test(
        "D1: a length within the limit is accepted, and says how many bytes are needed",
        arguments: [1, 2, 255, 256, 65_535, 65_536]
    )
    func lengthWithinLimit(length: Int) throws {
        let head = stream(of: [[UInt8](repeating: 0, count: length)])[..<4]
        let step = try Array(head).withUnsafeBytes { try FrameDecoder(limit: 65_536).next(in: $0) }
        #expect(step == .needsBytes(total: length + 4))
    }

    @Test(
        "D1: a length beyond the limit is refused with both numbers, before a byte of the body has come",
        arguments: [
            [0, 1, 0, 1], [0x7B, 0, 0, 0], [0x7F, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF],
        ]
    )
    func lengthBeyondLimit(head: [UInt8]) {
        let declared = head.reduce(0) { $0 << 8 | Int($1) }
        #expect(throws: FrameError.tooLarge(declared: declared, limit: 65_536)) {
            try head.withUnsafeBytes { try FrameDecoder(limit: 65_536).next(in: $0) }
        }
    }

    @Test("D1: a frame without a body is refused")
    func emptyFrame() {
        #expect(throws: FrameError.empty) {
            try [UInt8](repeating: 0, count: 9).withUnsafeBytes { try FrameDecoder(limit: 10).next(in: $0) }
        }
    }

    @Test("D3: a stream that ends inside a frame says how much of it had come")
    func truncated() throws {
        let whole = frame(.drain(graceMilliseconds: 70_000))
        let decoder = FrameDecoder(limit: 100)
        try [UInt8]().withUnsafeBytes { try decoder.end(with: $0) }
        for have in 1..<whole.count {
            #expect(throws: FrameError.truncated(have: have, need: have < 4 ? 4 : whole.count)) {
                try Array(whole[..<have]).withUnsafeBytes { try decoder.end(with: $0) }
            }
        }
    }

    @Test("every error is a sentence with its numbers")
    func descriptions() {
        #expect(
            "\(FrameError.tooLarge(declared: 20, limit: 16))"
                == "a frame of 20 bytes was announced; the limit is 16 bytes"
        )
        #expect("\(FrameError.truncated(have: 3, need: 9))".contains("3 of 9 bytes"))
        #expect("\(FrameError.empty)".contains("without a body"))
    }
}

@Suite("Memory that a stream is read into")
struct ReceiveBufferTests {
    private func fill(_ buffer: inout ReceiveBuffer, _ bytes: [UInt8]) {
        let room = buffer.writable
        #expect(room.count >= bytes.count)
        room.copyBytes(from: bytes)
        buffer.wasFilled(by: bytes.count)
    }

    @Test("what is written can be read, in pieces, until it is consumed")
    func fillAndConsume() {
        var buffer = ReceiveBuffer()
        fill(&buffer, [1, 2, 3, 4])
        buffer.consume(1)
        fill(&buffer, [5])
        #expect(Array(buffer.readable) == [2, 3, 4, 5])
        buffer.consume(4)
        #expect(buffer.readable.isEmpty)
        #expect(buffer.writable.count == ReceiveBuffer.standardBytes)
    }

    @Test("room for a large frame is made around what is there, and given back a while after it is gone")
    func growthAndReturn() {
        var buffer = ReceiveBuffer()
        fill(&buffer, [9, 8, 7])
        buffer.consume(1)
        buffer.makeRoom(for: 1 << 20)
        #expect(Array(buffer.readable) == [8, 7])
        #expect(buffer.writable.count == (1 << 20) - 2)
        fill(&buffer, [UInt8](repeating: 6, count: (1 << 20) - 2))
        #expect(buffer.writable.isEmpty)
        buffer.consume((1 << 20) - 1)
        // Large frames mostly come in rows, so the buffer keeps the room for a while.
        buffer.makeRoom(for: FrameDecoder.headBytes)
        #expect(buffer.writable.count == (1 << 20) - 1)
        for _ in 0..<ReceiveBuffer.shrinkAfter { buffer.makeRoom(for: FrameDecoder.headBytes) }
        #expect(Array(buffer.readable) == [6])
        #expect(buffer.writable.count == ReceiveBuffer.standardBytes - 1)
    }

    @Test("there is room for one more byte at least, whatever happens, and nothing is lost")
    func random() {
        var random = SeededGenerator.announced()
        var buffer = ReceiveBuffer()
        var model: [UInt8] = []
        for step in 0..<3_000 {
            let wanted = Bool.random(using: &random) ? 4 : Int.random(in: 1...400_000, using: &random)
            buffer.makeRoom(for: wanted)
            #expect(!buffer.writable.isEmpty)
            #expect(model.count + buffer.writable.count >= wanted)
            let added = (0..<min(buffer.writable.count, Int.random(in: 0...900, using: &random)))
                .map { UInt8(truncatingIfNeeded: $0 &+ step) }
            fill(&buffer, added)
            model += added
            let consumed = Int.random(in: 0...min(model.count, 1_200), using: &random)
            buffer.consume(consumed)
            model.removeFirst(consumed)
            guard buffer.readable.elementsEqual(model) else {
                Issue.record("seed \(random.seed), step \(step)")
                return
            }
        }
    }
}
