import BridgeProtocol
import CBOR
import DomainEvents
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Memory that a worker and its host share, inside a process.
///
/// `@unchecked Sendable`: each test uses its own on one thread.
private final class TestMemory: OutboxMemory, OutboxSource, @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    private(set) var givenBack: [Range<Int>] = []
    /// How much was copied out of it.
    private(set) var copied = 0
    /// Called before each copy.
    var beforeCopy: () -> Void = {}
    /// How much of it can be read; a file may have been cut.
    var readable = Int.max

    init(slots: Int) {
        let count = OutboxLayout.headBytes + slots * OutboxLayout.slotBytes
        bytes = .allocate(byteCount: count, alignment: OutboxLayout.headBytes)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }

    var byteCount: Int { bytes.count }

    func giveBack(_ range: Range<Int>) {
        givenBack.append(range)
        UnsafeMutableRawBufferPointer(rebasing: bytes[range]).initializeMemory(as: UInt8.self, repeating: 0)
    }

    func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        beforeCopy()
        let end = min(bytes.count, readable)
        guard offset >= 0, offset < end else { return 0 }
        let count = min(buffer.count, end - offset)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)]))
        copied += count
        return count
    }

    subscript(word: Int) -> UInt64 {
        get { bytes.load(fromByteOffset: word, as: UInt64.self) }
        set { bytes.storeBytes(of: newValue, toByteOffset: word, as: UInt64.self) }
    }

    func scribble(over range: Range<Int>, _ random: inout SeededGenerator) {
        for offset in stride(from: range.lowerBound, to: range.upperBound - 7, by: 8) {
            bytes.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
        }
    }
}

/// A worker's outbox in shared memory.
private final class SharedSender {
    let memory: TestMemory
    let head: OutboxHead
    private var outbox: Outbox
    private let source = EventSource(origin: "a", incarnation: 1)
    private(set) var payloads: [[UInt8]] = []

    init(slots: Int = 64) throws {
        memory = TestMemory(slots: slots)
        var limits = LinkLimits()
        limits.windowEvents = 1 << 20
        limits.windowBytes = 1 << 40
        outbox = Outbox(limits: limits)
        let shared = outbox.share(memory)
        head = try #require(shared)
    }

    /// Puts in an event with a payload of this many bytes; false if there is no room.
    @discardableResult
    func put(_ payloadBytes: Int = 20, isWhole: Bool = true) -> Bool {
        let sequence = outbox.lastSequence + 1
        let head = EventHead(
            sequence: sequence,
            id: .sender(number: sequence),
            nanosecondsSinceEpoch: 1,
            name: .number(1)
        )
        let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: payloadBytes)
        let frame = frame(head, payload: payload)
        let place = outbox.append(frameLength: frame.count, source: source, number: sequence)
        guard let place else { return false }
        guard isWhole else { return true }
        frame.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { place.copyMemory(from: start, byteCount: bytes.count) }
        }
        outbox.frameWasWritten(frameLength: frame.count)
        payloads.append(payload)
        return true
    }

    /// Puts in a gap that stands for `count` events.
    func putGap(of count: UInt64) {
        let sequence = outbox.lastSequence + 1
        let buffer = CBORBuffer()
        GapFrame(sequence: sequence, name: .number(1), count: count, reason: 1, ranges: []).encode(into: buffer)
        let frame = buffer.copied()
        let place = outbox.append(frameLength: frame.count, source: source, number: sequence, isGap: true)
        frame.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { place?.copyMemory(from: start, byteCount: bytes.count) }
        }
        outbox.frameWasWritten(frameLength: frame.count)
    }

    /// Writes everything to the stream, and lets the host handle all events up to `mark`.
    func settle(through mark: UInt64) throws {
        var pieces: [UnsafeRawBufferPointer] = []
        outbox.compose(into: &pieces, maximumBytes: .max)
        outbox.composedWasWritten()
        _ = outbox.settle(try outbox.credit(Acknowledgement(mark: mark)))
    }

    var lastSequence: UInt64 { outbox.lastSequence }

    /// The events that a host recovers which has received all events up to `received`.
    func recovery(after received: UInt64) throws -> [(sequence: UInt64, payload: [UInt8])] {
        try read(memory, after: received)
    }
}

@discardableResult
private func read(_ memory: TestMemory, after received: UInt64) throws -> [(sequence: UInt64, payload: [UInt8])] {
    let state = try #require(OutboxState(memory))
    var found: [(sequence: UInt64, payload: [UInt8])] = []
    var recovery = OutboxRecovery(memory, state: state, limits: LinkLimits())
    try recovery.forEach(after: received) { sequence, record in
        guard case .event(_, let payload) = record else { return }
        found.append((sequence, Array(payload)))
    }
    return found
}

@Suite("The shared outbox: what its worker has accepted is found after its death")
struct SharedOutboxTests {
    @Test("memory that can be read in part only is damage", .timeLimit(.minutes(5)))
    func cutShort() throws {
        let sender = try SharedSender()
        sender.put(200)
        sender.put(200)
        sender.memory.readable = OutboxLayout.headBytes + 300
        let error = #expect(throws: OutboxDamage.self) { try sender.recovery(after: 0) }
        #expect(error?.description.contains("could not be read beyond byte") == true)
    }

    @Test("a gap among the events is found as one, and counts as a sequence", .timeLimit(.minutes(5)))
    func gap() throws {
        let sender = try SharedSender()
        sender.put()
        sender.putGap(of: 7)
        sender.put()
        var recovery = OutboxRecovery(
            sender.memory,
            state: try #require(OutboxState(sender.memory)),
            limits: LinkLimits()
        )
        var found: [String] = []
        try recovery.forEach(after: 0) { sequence, record in
            switch record {
            case .event: found.append("event \(sequence)")
            case .gap(let gap): found.append("gap \(sequence) of \(gap.count)")
            }
        }
        #expect(found == ["event 1", "gap 2 of 7", "event 3"])
    }

    @Test("events behind the newest received one are found whole and in order", .timeLimit(.minutes(5)))
    func eventsAreFound() throws {
        let sender = try SharedSender()
        // Small ones, one that fills a slot on its own, one that takes several.
        let sizes = [
            20, 3, OutboxLayout.slotBytes - 100, 700_000, 20, OutboxLayout.slotBytes, 1, 90_000, 90_000, 90_000,
        ]
        for size in sizes { #expect(sender.put(size)) }
        for received in 0...sizes.count {
            let found = try sender.recovery(after: UInt64(received))
            #expect(found.map(\.sequence) == Array((received + 1)..<(sizes.count + 1)).map { UInt64($0) })
            #expect(found.map(\.payload) == Array(sender.payloads[received...]))
        }
        let state = try #require(OutboxState(sender.memory))
        #expect(state.accepted == UInt64(sizes.count) && !state.isTorn)
        #expect(state.acceptedBytes > UInt64(sizes.reduce(0, +)))
    }

    @Test("an outbox that lives long is readable at every moment", .timeLimit(.minutes(5)))
    func longLife() throws {
        var random = SeededGenerator.announced()
        let sender = try SharedSender(slots: 24)
        var settled: UInt64 = 0
        for _ in 0..<300 {
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                let isLarge = Int.random(in: 0..<40, using: &random) == 0
                sender.put(Int.random(in: 1...(isLarge ? 600_000 : 3_000), using: &random))
            }
            if Bool.random(using: &random) {
                settled = UInt64.random(in: settled...sender.lastSequence, using: &random)
                try sender.settle(through: settled)
            }
            let received = UInt64.random(in: settled...sender.lastSequence, using: &random)
            let found = try sender.recovery(after: received)
            guard found.map(\.sequence) == Array((received + 1)..<(sender.lastSequence + 1)),
                found.allSatisfy({ $0.payload == sender.payloads[Int($0.sequence) - 1] })
            else {
                Issue.record("\(found.count) of \(sender.lastSequence - received) events were found")
                return
            }
        }
    }

    @Test("N17: an event that its publisher never finished is reported and not delivered", .timeLimit(.minutes(5)))
    func tornEvent() throws {
        let sender = try SharedSender()
        sender.put()
        sender.put(400_000, isWhole: false)
        #expect(try sender.recovery(after: 0).map(\.sequence) == [1])
        #expect(try #require(OutboxState(sender.memory)).isTorn)
    }

    @Test("an outbox that falls empty begins again where it began", .timeLimit(.minutes(5)))
    func beginsAgain() throws {
        let sender = try SharedSender(slots: 3)
        for round in 1...300 {
            for _ in 0..<100 { sender.put() }
            try sender.settle(through: UInt64(round * 100))
        }
        let beyond = sender.memory.bytes[(OutboxLayout.headBytes + OutboxLayout.slotBytes)...]
        #expect(beyond.allSatisfy { $0 == 0 })
    }

    @Test("a large burst gives its memory back, but for what bursts mostly take", .timeLimit(.minutes(5)))
    func memoryIsGivenBack() throws {
        let sender = try SharedSender(slots: 200)
        for _ in 0..<400 { #expect(sender.put(90_000)) }
        try sender.settle(through: 400)
        let givenBack = sender.memory.givenBack.reduce(0) { $0 + $1.count }
        #expect(givenBack >= 400 * 90_000 - (5 << 20))
        #expect(sender.memory.givenBack.allSatisfy { $0.lowerBound % 4_096 == 0 && $0.count % 4_096 == 0 })
        #expect(sender.put())
        #expect(try sender.recovery(after: 400).map(\.sequence) == [401])
    }

    @Test("an outbox whose memory is full takes nothing more, and goes on when there is room", .timeLimit(.minutes(5)))
    func memoryIsFull() throws {
        let sender = try SharedSender(slots: 4)
        var count: UInt64 = 0
        while sender.put(100_000) { count += 1 }
        #expect(count == 8)
        #expect(try sender.recovery(after: 2).count == 6)
        #expect(!sender.put(100_000))
        try sender.settle(through: 2)
        #expect(sender.put(100_000))
        #expect(try sender.recovery(after: 2).map(\.sequence) == Array(3...9))
        // Every chunk is too small for this one; together they are large enough.
        try sender.settle(through: 9)
        #expect(sender.put(900_000))
        #expect(try sender.recovery(after: 9).map(\.sequence) == [10])
    }

    @Test("memory that was never used, or that is too small, is no outbox", .timeLimit(.minutes(5)))
    func unusedMemory() {
        #expect(OutboxState(TestMemory(slots: 4)) == nil)
        var outbox = Outbox(limits: LinkLimits())
        let isShared = outbox.share(TestMemory(slots: 0)) != nil
        #expect(!isShared)
    }

    @Test("what had begun and was not finished is seen in the head page", .timeLimit(.minutes(5)))
    func openEvents() throws {
        let sender = try SharedSender()
        for sequence: UInt64 in 1...20_000 {
            sender.head.opened(sequence)
            sender.head.handlingBegan(sequence)
            if sequence != 19_990 { sender.head.closed(sequence) }
            if sequence != 20_000 { sender.head.handlingFinished(sequence) }
        }
        let state = try #require(OutboxState(sender.memory))
        #expect(state.handledNow == 20_000)
        #expect((3_617...20_000).filter { state.isOpen($0) } == [19_990])
    }
}

@Suite("N16: the shared outbox of a hostile worker")
struct HostileOutboxTests {
    private typealias Field = OutboxLayout.Field

    /// A sound outbox with events in several chunks.
    private func filled() throws -> SharedSender {
        let sender = try SharedSender(slots: 12)
        for size in [20, 90_000, 90_000, 90_000, 400_000, 20, 20] { sender.put(size) }
        return sender
    }

    /// Reads any memory; an error is a right answer.
    private func survive(_ memory: TestMemory, after received: UInt64 = 0) {
        let before = memory.copied
        guard OutboxState(memory) != nil else { return }
        _ = try? read(memory, after: received)
        #expect(memory.copied - before <= memory.byteCount + 3 * OutboxLayout.headBytes)
    }

    @Test("random bytes for chunks are refused, and not read for ever", .timeLimit(.minutes(5)))
    func randomChunks() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<20 {
            let sender = try filled()
            sender.memory.scribble(over: OutboxLayout.headBytes..<sender.memory.byteCount, &random)
            survive(sender.memory)
            #expect(throws: OutboxDamage.self) { try sender.recovery(after: 0) }
        }
    }

    @Test("random bytes for the head are refused, and not read for ever", .timeLimit(.minutes(5)))
    func randomHead() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<100 {
            let sender = try filled()
            sender.memory.scribble(over: 8..<OutboxLayout.headBytes, &random)
            // Some of them plausible.
            if Bool.random(using: &random) { sender.memory[Field.accepted] = random.next() % 100 }
            if Bool.random(using: &random) {
                let slot = Int(random.next() % 14)
                sender.memory[Field.firstChunk] = UInt64(OutboxLayout.headBytes + slot * OutboxLayout.slotBytes)
            }
            survive(sender.memory, after: random.next() % 10)
        }
    }

    @Test("a few wrong bytes give damage or events, and nothing else", .timeLimit(.minutes(5)))
    func wrongBytes() throws {
        var random = SeededGenerator.announced()
        let sender = try filled()
        let sound = Array(sender.memory.bytes)
        for _ in 0..<3_000 {
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                // At the places that matter: the head, the heads of chunks, the heads of frames.
                let base = [0, OutboxLayout.headBytes, OutboxLayout.headBytes + OutboxLayout.slotBytes].randomElement(
                    using: &random
                )
                let offset = (base ?? 0) + Int.random(in: 8..<72, using: &random)
                sender.memory.bytes[offset] = UInt8.random(in: 0 ... .max, using: &random)
            }
            survive(sender.memory, after: UInt64.random(in: 0...8, using: &random))
            sender.memory.bytes[..<(OutboxLayout.headBytes * 100)].copyBytes(
                from: sound[..<(OutboxLayout.headBytes * 100)]
            )
        }
    }

    @Test("memory that changes while it is read gives damage or events, and nothing else", .timeLimit(.minutes(5)))
    func changingMemory() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<100 {
            let sender = try filled()
            let memory = sender.memory
            memory.beforeCopy = { [unowned memory] in
                let offset = Int.random(in: 1..<(memory.byteCount / 8), using: &random) * 8
                memory[offset] = random.next()
                memory[Field.accepted] = random.next()
            }
            survive(memory)
            memory.beforeCopy = {}
        }
    }

    @Test("a list of chunks that leads back to itself comes to an end", .timeLimit(.minutes(5)))
    func circularChunks() throws {
        let sender = try filled()
        let first = Int(sender.memory[Field.firstChunk])
        sender.memory[Field.accepted] = .max
        sender.memory[first + 8] = UInt64(first)
        survive(sender.memory)
        // Chunks without a frame in them, too.
        sender.memory[first + OutboxLayout.chunkHeadBytes] = 0
        survive(sender.memory)
    }

    @Test("more counted events than there are is damage that says so; those found stand", .timeLimit(.minutes(5)))
    func countsTooMany() throws {
        let sender = try filled()
        sender.memory[Field.accepted] = 100
        let state = try #require(OutboxState(sender.memory))
        var recovery = OutboxRecovery(sender.memory, state: state, limits: LinkLimits())
        var found: [UInt64] = []
        let error = #expect(throws: OutboxDamage.self) {
            try recovery.forEach(after: 2) { sequence, _ in found.append(sequence) }
        }
        #expect(found == [3, 4, 5, 6, 7])
        #expect(error?.description == "it ends behind event 7, though 100 events were counted")
    }

    @Test("more events than a worker may keep are damage that says so; those within the limit stand")
    func holdsTooMany() throws {
        let sender = try SharedSender(slots: 12)
        for _ in 0..<12 { sender.put() }
        let state = try #require(OutboxState(sender.memory))
        var found: [UInt64] = []
        func read(allowed: Int) throws {
            found = []
            var recovery = OutboxRecovery(sender.memory, state: state, limits: LinkLimits(), allowed: allowed)
            // Events that had arrived are not counted.
            try recovery.forEach(after: 2) { sequence, _ in found.append(sequence) }
        }
        try read(allowed: 10 * LinkLimits.minimumCharge)
        #expect(found == Array(3...12))
        let error = #expect(throws: OutboxDamage.self) { try read(allowed: 10 * LinkLimits.minimumCharge - 1) }
        #expect(found == Array(3...11))
        #expect(error?.description == "more follows event 11 than the 2559 bytes that a worker may keep")
    }

    @Test("what a host reads of a dead worker's outbox is twice what the worker keeps before it drops")
    func allowance() {
        #expect(OutboxRecovery.allowedBytes == 128 << 20)
    }

    @Test("fewer counted events than had come is damage", .timeLimit(.minutes(5)))
    func countsTooFew() throws {
        let sender = try filled()
        sender.memory[Field.accepted] = 3
        let error = #expect(throws: OutboxDamage.self) { try sender.recovery(after: 5) }
        #expect(error?.description == "it counts 3 events, though 5 had come")
    }

    @Test("a frame larger than the limit is refused before memory is taken for it", .timeLimit(.minutes(5)))
    func frameTooLarge() throws {
        let sender = try filled()
        let frame = Int(sender.memory[Field.firstChunk]) + OutboxLayout.chunkHeadBytes
        sender.memory.bytes.storeBytes(of: UInt32(17 << 20).bigEndian, toByteOffset: frame, as: UInt32.self)
        let error = #expect(throws: OutboxDamage.self) { try sender.recovery(after: 0) }
        #expect(error?.description.contains("a frame of 17825792 bytes was announced") == true)
    }

    @Test("events out of their order are refused", .timeLimit(.minutes(5)))
    func wrongOrder() throws {
        let sender = try SharedSender()
        for _ in 1...3 { sender.put() }
        let frames = Int(sender.memory[Field.firstChunk]) + OutboxLayout.chunkHeadBytes
        // The third element of the second frame's array is its sequence: 2.
        let length = sender.payloads[0].count + 4
        let second = (frames + length..<frames + 100).first {
            sender.memory.bytes[$0] == 2 && sender.memory.bytes[$0 - 1] == 8
        }
        sender.memory.bytes[try #require(second)] = 9
        let error = #expect(throws: OutboxDamage.self) { try sender.recovery(after: 0) }
        #expect(error?.description == "event 9 lies where 2 was expected")
    }
}
