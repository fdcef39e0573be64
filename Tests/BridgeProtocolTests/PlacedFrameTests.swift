import BridgeProtocol
import CBOR
import DomainEvents
import TestSupport
import Testing

@Suite("Events that lie in shared memory")
struct PlacedFrameTests {
    private func decode(_ body: [UInt8]) throws -> PlacedFrame {
        try body.withUnsafeBytes { try PlacedFrame(decoding: $0) }
    }

    private func numbers(_ numbers: [UInt64], further: Bool = false) -> [UInt8] {
        body { writer in
            writer.arrayHead(numbers.count + (further ? 1 : 0))
            for number in numbers { writer.unsigned(number) }
            if further { writer.text("later") }
        }
    }

    private func description(_ work: () throws -> Void) -> String? {
        do {
            try work()
            return nil
        } catch {
            return String(describing: error)
        }
    }

    @Test("what is named is read back, also the largest numbers", arguments: [0, 23, 24, 1 << 32, UInt64.max])
    func roundTrip(number: UInt64) throws {
        let placed = PlacedFrame(sequence: number, offset: number, length: number)
        let bytes = frame(placed)
        #expect(bytes.count <= PlacedFrame.maximumBytes)
        #expect(try decode(bodyOf(bytes)) == placed)
        #expect(bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) } == bytes.count - 4)
    }

    @Test("elements beyond the known ones are ignored; fewer, another kind and bytes behind are violations")
    func forms() throws {
        #expect(try decode(numbers([16, 1, 2, 3], further: true)) == PlacedFrame(sequence: 1, offset: 2, length: 3))
        #expect(description { _ = try decode(numbers([16, 1, 2])) } == "a placed frame has 4 elements")
        #expect(description { _ = try decode(numbers([9, 1, 2, 3])) } == "frame kind 9 is not placed")
        #expect(
            description { _ = try decode(numbers([16, 1, 2, 3]) + [0]) }
                == "1 bytes follow what was placed in its frame"
        )
        #expect(throws: (any Error).self) {
            try decode(
                body {
                    $0.arrayHead(4)
                    $0.unsigned(16)
                    $0.text("1")
                }
            )
        }
        #expect(throws: (any Error).self) { try decode(Array(numbers([16, 1, 2, 1 << 40]).dropLast())) }
        // A control message cannot be like this.
        #expect(throws: LinkViolation.self) { try decodeMessage(numbers([16, 1, 2, 3])) }
    }

    /// Memory of a million bytes, and frames of at most a thousand.
    private static let places: [(offset: UInt64, length: UInt64, text: String)] = [
        (0, 0, "event 7 was placed with 0 bytes; 5 to 1004 are possible"),
        (0, 4, "event 7 was placed with 4 bytes; 5 to 1004 are possible"),
        (0, 1_005, "event 7 was placed with 1005 bytes; 5 to 1004 are possible"),
        (0, .max, "event 7 was placed with 18446744073709551615 bytes; 5 to 1004 are possible"),
        (999_996, 5, "event 7 was placed at byte 999996 with 5 bytes; the memory has 1000000"),
        (1_000_000, 5, "event 7 was placed at byte 1000000 with 5 bytes; the memory has 1000000"),
        (UInt64(Int64.max), 5, "event 7 was placed at byte 9223372036854775807 with 5 bytes; the memory has 1000000"),
        (.max, 1_004, "event 7 was placed at byte 18446744073709551615 with 1004 bytes; the memory has 1000000"),
        (.max - 4, 5, "event 7 was placed at byte 18446744073709551611 with 5 bytes; the memory has 1000000"),
    ]

    @Test("a place outside the memory, or for a frame that is too large, is named", arguments: places)
    func outside(offset: UInt64, length: UInt64, text: String) {
        let placed = PlacedFrame(sequence: 7, offset: offset, length: length)
        #expect(description { _ = try placed.range(in: 1_000_000, limit: 1_000) } == text)
    }

    @Test("a place up to the last byte of the memory is one")
    func inside() throws {
        let last = PlacedFrame(sequence: 7, offset: 999_995, length: 5)
        #expect(try last.range(in: 1_000_000, limit: 1_000) == 999_995..<1_000_000)
        let largest = PlacedFrame(sequence: 7, offset: 0, length: 1_004)
        #expect(try largest.range(in: 1_000_000, limit: 1_000) == 0..<1_004)
        #expect(throws: LinkViolation.self) { try largest.range(in: 3, limit: 1_000) }
    }

    @Test("what lies there must be the event that was named, whole")
    func check() throws {
        let head = EventHead(sequence: 7, id: .sender(number: 7), nanosecondsSinceEpoch: 1, name: .number(1))
        let bytes = frame(head, payload: [0xA0])
        func found(_ sequence: UInt64, _ length: Int, in bytes: [UInt8]) throws -> [UInt8] {
            let placed = PlacedFrame(sequence: sequence, offset: 0, length: UInt64(length))
            return try bytes.withUnsafeBytes { Array(try placed.check($0, limits: LinkLimits())) }
        }
        #expect(try found(7, bytes.count, in: bytes) == bodyOf(bytes))
        #expect(
            description { _ = try found(8, bytes.count, in: bytes) } == "event 7 lies where event 8 was placed"
        )
        #expect(
            description { _ = try found(7, bytes.count - 1, in: Array(bytes.dropLast())) }
                == """
                event 7 was placed with \(bytes.count - 1) bytes, but the frame there says that \
                \(bytes.count - 4) follow its length
                """
        )
        #expect(throws: (any Error).self) { try found(7, 8, in: [0, 0, 0, 4, 1, 2, 3, 4]) }
        let gap = body { writer in
            writer.arrayHead(4)
            for number: UInt64 in [16, 7, 0, 9] { writer.unsigned(number) }
        }
        #expect(throws: (any Error).self) { try found(7, gap.count + 4, in: [0, 0, 0, UInt8(gap.count)] + gap) }
    }
}

/// Memory that a worker and its host share, inside a process.
private final class PlacingMemory: OutboxMemory, @unchecked Sendable {
    // Sendable: each test uses its own on one thread.
    let bytes: UnsafeMutableRawBufferPointer

    init(slots: Int) {
        let count = OutboxLayout.headBytes + slots * OutboxLayout.slotBytes
        bytes = .allocate(byteCount: count, alignment: OutboxLayout.headBytes)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }

    func giveBack(_ range: Range<Int>) {}
}

/// An outbox in shared memory whose peer takes events out of it.
private final class PlacingSender {
    private let memory = PlacingMemory(slots: 64)
    private var outbox: Outbox
    private let source = EventSource(origin: "a", incarnation: 1)

    /// Whether the memory takes only a host's large events, and is no worker's outbox.
    private let isShelf: Bool

    init(windowBytes: Int = 1 << 40, isShared: Bool = true, isShelf: Bool = false) {
        self.isShelf = isShelf
        var limits = LinkLimits()
        limits.windowBytes = windowBytes
        outbox = Outbox(limits: limits)
        if isShared, !isShelf { _ = outbox.share(memory) }
    }

    func shelve() { outbox.shelve(in: memory) }

    func beginPlacing() { outbox.beginPlacing() }

    /// The byte that fills an event: its number, in a byte that is not 0.
    static func mark(of sequence: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: (sequence - 1) % 255 + 1) }

    /// Puts in an event of `count` bytes that are all its mark.
    func put(_ count: Int) {
        let sequence = outbox.lastSequence + 1
        let frame = outbox.append(frameLength: count, source: source, number: sequence)
        frame?.initializeMemory(as: UInt8.self, repeating: Self.mark(of: sequence), count: count)
        outbox.frameWasWritten(frameLength: count)
    }

    /// The bytes that leave next.
    func compose() -> [UInt8] {
        var pieces: [UnsafeRawBufferPointer] = []
        outbox.compose(into: &pieces, maximumBytes: .max)
        return pieces.flatMap { Array($0) }
    }

    func composedWasWritten() { outbox.composedWasWritten() }

    var lastComposed: UInt64 { outbox.lastComposed }
    var composedBytes: UInt64 { outbox.composedBytes }
    var hasWritable: Bool { outbox.hasWritable }

    func settle(through mark: UInt64) throws {
        _ = outbox.settle(try outbox.credit(Acknowledgement(mark: mark)))
    }

    /// The bytes at the place that a frame names.
    func bytes(at placed: PlacedFrame) throws -> [UInt8] {
        Array(memory.bytes[try placed.range(in: memory.bytes.count, limit: 16 << 20)])
    }
}

@Suite("An outbox whose large events stay where they lie")
struct PlacingOutboxTests {
    private static let large = LinkLimits.placedBytes

    private func placed(in bytes: ArraySlice<UInt8>) throws -> (PlacedFrame, ArraySlice<UInt8>) {
        let length = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) } + 4
        let body = Array(bytes.prefix(length).dropFirst(4))
        return (try body.withUnsafeBytes { try PlacedFrame(decoding: $0) }, bytes.dropFirst(length))
    }

    @Test("of a large event only the place leaves, of a small one the frame, all in order")
    func mixed() throws {
        let sender = PlacingSender()
        sender.beginPlacing()
        for count in [8, Self.large, Self.large + 1, Self.large - 1, 300_000] { sender.put(count) }
        let bytes = sender.compose()
        #expect(bytes.prefix(8) == [UInt8](repeating: 1, count: 8)[...])
        var (placed, rest) = try placed(in: bytes.dropFirst(8))
        #expect(placed.sequence == 2 && placed.length == UInt64(Self.large))
        #expect(try sender.bytes(at: placed) == [UInt8](repeating: 2, count: Self.large))
        (placed, rest) = try self.placed(in: rest)
        #expect(placed.sequence == 3)
        #expect(try sender.bytes(at: placed) == [UInt8](repeating: 3, count: Self.large + 1))
        #expect(rest.prefix(Self.large - 1) == [UInt8](repeating: 4, count: Self.large - 1)[...])
        (placed, rest) = try self.placed(in: rest.dropFirst(Self.large - 1))
        #expect(try sender.bytes(at: placed) == [UInt8](repeating: 5, count: 300_000))
        #expect(rest.isEmpty)
        // A placed event counts with its whole size.
        #expect(sender.composedBytes == UInt64(8 + 3 * Self.large + 300_000))
    }

    @Test("whole frames leave as long as the peer has not said that it takes others", arguments: [true, false])
    func notAgreed(isShared: Bool) {
        let sender = PlacingSender(isShared: isShared)
        // The peer does not see memory that is not shared, whatever features it has.
        if !isShared { sender.beginPlacing() }
        sender.put(Self.large)
        #expect(sender.compose() == [UInt8](repeating: 1, count: Self.large))
    }

    @Test("the window counts what was placed at its full length")
    func window() throws {
        let sender = PlacingSender(windowBytes: 3 * Self.large)
        sender.beginPlacing()
        for _ in 1...5 { sender.put(Self.large) }
        _ = sender.compose()
        sender.composedWasWritten()
        #expect(sender.lastComposed == 3)
        try sender.settle(through: 1)
        _ = sender.compose()
        #expect(sender.lastComposed == 4)
    }

    @Test("more than one batch can name leave in the next one")
    func fullBatch() throws {
        let sender = PlacingSender()
        sender.beginPlacing()
        for _ in 1...150 { sender.put(Self.large) }
        var rest = sender.compose()[...]
        let first = sender.lastComposed
        #expect((64..<150).contains(first))
        #expect(sender.hasWritable)
        // No further frames are composed while the last batch is still being written.
        #expect(sender.compose().isEmpty)
        for sequence in 1...first {
            let placed: PlacedFrame
            (placed, rest) = try self.placed(in: rest)
            #expect(placed.sequence == sequence)
        }
        sender.composedWasWritten()
        #expect(try placed(in: sender.compose()[...]).0.sequence == first + 1)
    }
}

@Suite("A host's outbox with memory for large events")
struct ShelvingOutboxTests {
    private static let large = LinkLimits.placedBytes

    private func makeSender() -> PlacingSender {
        let sender = PlacingSender(isShelf: true)
        sender.beginPlacing()
        return sender
    }

    /// The numbers of the events that left, and how many of them were placed.
    private func read(
        _ bytes: [UInt8],
        from sender: PlacingSender,
        length: Int
    ) throws -> (numbers: [UInt8], placed: Int) {
        var numbers: [UInt8] = []
        var placed = 0
        var rest = bytes[...]
        while let first = rest.first {
            // A placed frame begins with the high bytes of its short length; an event here is full of its number.
            if first == 0 {
                let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) } + 4
                let frame = try Array(rest.prefix(count).dropFirst(4)).withUnsafeBytes { try PlacedFrame(decoding: $0) }
                let content = try sender.bytes(at: frame)
                #expect(content.count == length && Set(content).count == 1)
                numbers.append(content[0])
                placed += 1
                rest = rest.dropFirst(count)
            } else {
                numbers.append(first)
                rest = rest.dropFirst(length)
            }
        }
        return (numbers, placed)
    }

    @Test("what came before the memory leaves whole, what comes after it is placed")
    func laterMemory() throws {
        let sender = makeSender()
        for _ in 1...3 { sender.put(Self.large) }
        sender.shelve()
        for _ in 4...9 { sender.put(Self.large) }
        let (numbers, placed) = try read(sender.compose(), from: sender, length: Self.large)
        #expect(numbers == Array(1...9))
        #expect(placed == 6)
    }

    @Test("what finds no room leaves whole, and what was settled makes room again")
    func full() throws {
        let sender = makeSender()
        sender.shelve()
        // Sixty-four slots, each with room for two such events.
        let length = 100_000
        for _ in 1...150 { sender.put(length) }
        var numbers: [UInt8] = []
        var placed = 0
        while sender.hasWritable {
            let found = try read(sender.compose(), from: sender, length: length)
            sender.composedWasWritten()
            numbers += found.numbers
            placed += found.placed
        }
        #expect(numbers == Array(1...150))
        #expect((100...128).contains(placed))
        try sender.settle(through: 150)
        // Larger than any of the kept chunks, which together make the room.
        for _ in 151...153 { sender.put(3 << 20) }
        let found = try read(sender.compose(), from: sender, length: 3 << 20)
        #expect(found.numbers == [151, 152, 153])
        #expect(found.placed == 3)
    }

    @Test("what was settled makes room again, when large and small take turns", arguments: [true, false])
    func takingTurns(isShelf: Bool) throws {
        let sender = PlacingSender(isShelf: isShelf)
        sender.beginPlacing()
        if isShelf { sender.shelve() }
        // More than enough to take all of the sixty-four slots, if the two of each large one did not come back.
        for sequence: UInt64 in 1...80 {
            let isLarge = sequence.isMultiple(of: 2)
            let length = isLarge ? 300_000 : 8
            sender.put(length)
            let found = try read(sender.compose(), from: sender, length: length)
            sender.composedWasWritten()
            #expect(found.numbers == [PlacingSender.mark(of: sequence)])
            #expect(found.placed == (isLarge ? 1 : 0))
            try sender.settle(through: sequence)
        }
    }

    @Test("large and small, settled in any order and as often as it may be, never meet")
    func longLife() throws {
        let sender = makeSender()
        sender.shelve()
        var random = SeededGenerator.announced()
        var settled: UInt64 = 0
        for _ in 0..<rounds(60, atLeast: 20) {
            let length = [Self.large, 60_000, 300_000].randomElement(using: &random) ?? 0
            for _ in 0..<Int.random(in: 1...12, using: &random) { sender.put(length) }
            while sender.hasWritable {
                let before = sender.lastComposed
                let found = try read(sender.compose(), from: sender, length: length)
                sender.composedWasWritten()
                #expect(found.numbers == (before + 1...sender.lastComposed).map { PlacingSender.mark(of: $0) })
            }
            settled = UInt64.random(in: settled...sender.lastComposed, using: &random)
            try sender.settle(through: settled)
        }
    }
}
