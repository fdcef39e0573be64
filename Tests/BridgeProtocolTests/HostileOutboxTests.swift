import BridgeProtocol
import TestSupport
import Testing

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
        _ = try? memory.recovery(after: received)
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

    @Test("an event larger than all else that a worker may keep lies alone, and is recovered")
    func holdsOneLargeEvent() throws {
        let sender = try SharedSender(slots: 12)
        for _ in 0..<3 { sender.put() }
        try sender.settle(through: 3)
        // A worker that keeps nothing takes an event of any size that the frame limit allows.
        sender.put(600 << 10)
        var found: [UInt64] = []
        func read(after known: UInt64?) throws {
            found = []
            let state = try #require(OutboxState(sender.memory))
            var recovery = OutboxRecovery(sender.memory, state: state, limits: LinkLimits(), allowed: 512 << 10)
            try recovery.forEach(after: known) { sequence, _ in found.append(sequence) }
        }
        for known: UInt64? in [3, nil] {
            try read(after: known)
            #expect(found == [4])
        }
        sender.put()
        for known: UInt64? in [3, nil] {
            let error = #expect(throws: OutboxDamage.self) { try read(after: known) }
            #expect(found == [4])
            #expect(error?.description == "more follows event 4 than the 524288 bytes that a worker may keep")
        }
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

    @Test("more settled events than counted ones are damage, unless the host knows by itself what had come")
    func settlesTooMany() throws {
        let sender = try filled()
        for settled in [8, UInt64.max] {
            sender.memory[Field.settled] = settled
            let state = try #require(OutboxState(sender.memory))
            #expect(!state.isSettled)
            var recovery = OutboxRecovery(sender.memory, state: state, limits: LinkLimits())
            var found: [UInt64] = []
            let error = #expect(throws: OutboxDamage.self) {
                try recovery.forEach(after: nil) { sequence, _ in found.append(sequence) }
            }
            #expect(found.isEmpty)
            #expect(error?.description == "it counts 7 events, though event \(settled) is settled")
            #expect(try sender.recovery(after: 5).map(\.sequence) == [6, 7])
        }
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
