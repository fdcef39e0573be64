import BridgeProtocol
import TestSupport
import Testing

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
                #expect(sender.memory[OutboxLayout.Field.settled] == settled)
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

    @Test("the head page says up to which event all are settled, whatever comes and goes behind it")
    func settledMark() throws {
        let sender = try SharedSender()
        func page() throws -> String {
            let isSettled = try #require(OutboxState(sender.memory)).isSettled
            return "\(sender.memory[OutboxLayout.Field.settled])\(isSettled ? ", which is all" : "")"
        }
        for _ in 1...6 { sender.put() }
        try sender.settle(through: 0)
        #expect(try page() == "0")
        // Event 2 is not settled, so nothing is said of the events behind it.
        try sender.settle(through: 1, [3...4])
        #expect(try page() == "1")
        try sender.settle(through: 2)
        #expect(try page() == "4")
        // A refused event is kept until it is acknowledged.
        try sender.refuse(5)
        #expect(try page() == "4")
        try sender.settle(through: 6)
        #expect(try page() == "6, which is all")
        sender.put(isWhole: false)
        #expect(try page() == "6, which is all")
        sender.put()
        #expect(try page() == "6")
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
