import BridgeProtocol
import DomainEvents
import TestSupport
import Testing

@Suite("What a side has accepted for its peer, and what becomes of it")
struct SendStateTests {
    private static let policies: [String: OverflowPolicy] = [
        "New": .dropNewest, "Old": .dropOldest, "Last": .latest(by: "k"), "Fail": .fail,
    ]

    // MARK: - Taking

    /// How full a side is.
    private enum Room: CaseIterable {
        case empty
        /// Where waiting begins, and `.fail` refuses.
        case full
        /// Where no event is accepted that waits for room.
        case overfull
    }

    private static func side(_ room: Room, _ policies: [String: OverflowPolicy]) -> SendingSide {
        let side = SendingSide(policies, windowEvents: nil)
        let count =
            switch room {
            case .empty: 0
            case .full: 16
            case .overfull: 40
            }
        for number in 0..<UInt64(count) { side.put(100 + number, isAccepted: true) }
        return side
    }

    @Test("each policy in each state of room: what becomes of an event")
    func everyPolicy() {
        for room in Room.allCases {
            for name in ["Box", "Fail", "New", "Old", "Last"] {
                let side = Self.side(room, Self.policies)
                let outcome = side.put(1, name)
                let isTaken = if case .accepted = outcome { true } else { false }
                switch (name, room) {
                case (_, .empty), ("Box", .full): #expect(isTaken, "\(name) \(room)")
                case ("Box", .overfull): #expect(outcome == .full(limit: side.hardBytes))
                case ("Fail", _): #expect(outcome == .full(limit: 16 * LinkLimits.minimumCharge), "\(room)")
                default: #expect(outcome == .dropped, "\(name) \(room)")
                }
                #expect(side.evicted == (outcome == .dropped ? [1] : []), "\(name) \(room)")
                // An event that another process has accepted is taken where events wait, however full the side is.
                if name == "Box" {
                    let isOthers = if case .accepted = side.put(2, isAccepted: true) { true } else { false }
                    #expect(isOthers, "\(room)")
                }
                #expect(side.books.accepted == side.books.others)
            }
        }
    }

    @Test(
        "below the limit where waiting begins, one more event that waits for room fits, however large; beyond it none does",
        arguments: [15, 16]
    )
    func oneMoreFits(count: UInt64) {
        // Both limits are 16 small events.
        for policies in [[:], Self.policies] {
            let side = SendingSide(policies, windowEvents: nil, hardBytes: 16 * LinkLimits.minimumCharge)
            for number in 1...count { side.put(number) }
            let large = [UInt8](repeating: 0, count: 2_000)
            let outcome = side.put(100, payload: large)
            let isTaken = if case .accepted = outcome { true } else { false }
            #expect(isTaken == (count == 15))
            if !isTaken { #expect(outcome == .full(limit: side.hardBytes)) }
            // The large event has used up the room that was left, so that no further event fits.
            #expect(side.put(101) == .full(limit: side.hardBytes))
            #expect(side.keptBytes < 16 * LinkLimits.minimumCharge + 2_100)
        }
    }

    @Test("room that is kept counts below the limit, too: events of several publishers do not go beyond it together")
    func oneMoreBesideReservations() {
        let side = SendingSide(windowEvents: nil, hardBytes: 16 * LinkLimits.minimumCharge)
        side.put(1)
        // Each reservation is for a small event and the largest head, so two of them come up to the limit.
        let kept = [side.reserve(), side.reserve()]
        #expect(side.put(2, payload: [UInt8](repeating: 0, count: 2_000)) == .full(limit: side.hardBytes))
        for (index, bytes) in kept.enumerated() {
            let isTaken = if case .accepted = side.put(UInt64(3 + index), reserved: bytes) { true } else { false }
            #expect(isTaken)
        }
    }

    @Test("gaps of many names between the events take up room, too")
    func manyGaps() throws {
        let side = SendingSide(["*": .dropNewest], windowEvents: 1)
        for number in 1...UInt64(16) { side.put(number) }
        try side.write()
        var number: UInt64 = 100
        for _ in 0..<200 {
            // One event finds the room of a settled one; a hundred others, each of its own name, find none.
            try side.acknowledge(side.lastComposed)
            try side.write()
            for name in 0...100 {
                number += 1
                side.put(number, "Name\(name)")
            }
            try side.write()
            #expect(side.books.accepted == side.books.others)
        }
        #expect(side.keptEvents <= 2 * side.hardBytes / LinkLimits.minimumCharge + 101)
    }

    @Test("if gaps take up all room, an event drops no older event of its name in vain")
    func gapsAreNotFreed() {
        let side = SendingSide(["A": .dropOldest, "*": .dropNewest], windowEvents: 1)
        for number in 1...UInt64(16) { side.put(number, number.isMultiple(of: 2) ? "A" : "B") }
        // With the 16 events, and with one more, these gaps are charged just more than twice the hard limit.
        let gaps = 2 * side.hardBytes / LinkLimits.minimumCharge - 16
        for number in 0..<UInt64(gaps) { side.put(100 + number, "Name\(number)") }
        let before = side.evicted.count
        side.put(1_000, "A")
        #expect(side.evicted.dropFirst(before) == [1_000])
    }

    @Test("where every event waits for room, both ways in come to the same")
    func shortWay() {
        for room in Room.allCases {
            let (long, short) = (Self.side(room, [:]), Self.side(room, [:]))
            #expect(long.put(1) == short.send(1), "\(room)")
            #expect(long.keptBytes == short.keptBytes)
            long.takeNoMore(of: "Box")
            short.takeNoMore(of: "Box")
            #expect(long.put(2) == .left && short.send(2) == .left)
            let isOtherTaken = if case .left = long.put(3, "Other") { false } else { true }
            #expect(isOtherTaken)
        }
    }

    @Test("one that is larger than the peer takes is refused, whatever the policy and the room")
    func tooLarge() {
        for name in ["Box", "New", "Old", "Last", "Fail"] {
            let side = SendingSide(Self.policies)
            // Before the handshake this side's own limit counts, and then the smaller one.
            side.establish(frameBytes: 3_000)
            let limit = 3_000 - 2_048
            #expect(side.problem(name, bytes: limit) == nil)
            #expect(side.problem(name, bytes: limit + 1) == .tooLarge(size: limit + 1, limit: limit))
            side.establish(frameBytes: .max)
            #expect(side.problem(name, bytes: 4_096 - 2_048) == nil)
            #expect(side.problem(name, bytes: 4_096 - 2_047) == .tooLarge(size: 2_049, limit: 2_048))
        }
    }

    @Test("a guest without a host takes events as large as hosts take as a rule, though it takes larger frames itself")
    func guestsLargest() {
        let side = SendingSide(role: .worker, windowEvents: nil, frameBytes: LinkLimits.greatestFrameBytes)
        let limit = 16 << 20 - 2_048
        #expect(side.problem(bytes: limit) == nil)
        #expect(side.problem(bytes: limit + 1) == .tooLarge(size: limit + 1, limit: limit))
        side.establish(frameBytes: 64 << 20)
        #expect(side.problem(bytes: limit + 1) == nil)
    }

    @Test("one that was taken before the peer said that it is too large never leaves, and is the suspect")
    func tookTooLarge() throws {
        // With policies an event waits before the outbox, and is no frame yet.
        for policies: [String: OverflowPolicy] in [[:], Self.policies] {
            let side = SendingSide(policies, windowEvents: nil)
            side.put(1)
            side.put(2, payload: [UInt8](repeating: 0, count: 2_048))
            // Too small for the second event's frame, and just large enough to leave room for the first one's head.
            side.establish(frameBytes: 2_050)
            let expected = "it takes frames of at most 2050 bytes, and Box (own-1-2), which waits for it, is larger"
            #expect(side.becomeReady() == expected)
            #expect(try side.write() == [])
            #expect(side.unfinished == [2])
            let next = SendingSide(policies, windowEvents: nil)
            _ = side.move(to: next)
            #expect(next.crashed([2]) == .struck(sequence: 2, strikes: ["crashed"]))
        }
        let side = SendingSide(windowEvents: nil)
        side.put(1, payload: [UInt8](repeating: 0, count: 2_000))
        side.establish(frameBytes: 2_500)
        #expect(side.becomeReady() == nil)
        #expect(try side.write() == ["1"])
    }

    @Test("one that is larger than the peer takes is refused, though room was reserved for it before the peer said so")
    func reservedTooLarge() {
        let side = SendingSide(windowEvents: nil)
        let kept = side.reserve()
        side.establish(frameBytes: 3_000)
        let payload = [UInt8](repeating: 0, count: 2_000)
        #expect(side.put(1, payload: payload, reserved: kept) == .tooLarge(size: 2_000, limit: 3_000 - 2_048))
        #expect(side.isEmpty)
    }

    @Test("room that is kept is taken from others, and is there for the one that it was kept for")
    func reservations() {
        let side = SendingSide(windowEvents: nil)
        var kept: [Int] = []
        while side.problem() == nil { kept.append(side.reserve()) }
        #expect(kept.count > 1)
        #expect(side.put(1) == .full(limit: side.hardBytes))
        for (index, bytes) in kept.enumerated() {
            let isTaken = if case .accepted = side.put(UInt64(index), reserved: bytes) { true } else { false }
            #expect(isTaken)
        }
        let isFree = if case .accepted = side.put(99) { true } else { false }
        #expect(isFree)
    }

    @Test("it is crowded as long as so much waits for the peer's handlers, and not with what those are done with")
    func crowded() throws {
        let side = SendingSide(windowEvents: 20)
        for number in UInt64(1)...15 { #expect(side.put(number) == .accepted(sequence: number, isCrowded: false)) }
        #expect(side.put(16) == .accepted(sequence: 16, isCrowded: true))
        try side.write()
        // A refused event stays until it is acknowledged; handled events after the first are kept and do not count.
        try side.acknowledge(0, [2...4])
        #expect(!side.isCrowded)
        #expect(side.keptEvents == 16)
        try side.acknowledge(16)
        #expect(side.isEmpty && side.isSettled)
    }

    // MARK: - Leaving

    @Test("none leaves before the peer is ready, while it is paused, or once it is let go")
    func gate() throws {
        let side = SendingSide(windowEvents: nil)
        side.put(1)
        side.establish()
        #expect(try side.write() == [])
        let ready = SendingSide()
        ready.put(1)
        ready.setPaused(true)
        #expect(try ready.write() == [])
        // The side is paused with nothing in flight, so the peer has nothing to settle.
        #expect(ready.isSettled)
        ready.setPaused(false)
        #expect(!ready.isSettled)
        #expect(try ready.write() == ["1"])
        ready.put(2)
        ready.keep()
        #expect(try ready.write() == [])
    }

    @Test("one that is held keeps those behind it, with policies and without")
    func held() throws {
        for policies in [[:], Self.policies] {
            let side = SendingSide(policies)
            side.put(1)
            guard case .accepted(let ticket, _) = side.put(2, isHeld: true) else {
                Issue.record("it was not taken")
                return
            }
            side.put(3)
            #expect(try side.write() == ["1"])
            #expect(try side.write() == [])
            side.release(ticket)
            #expect(try side.write() == ["2", "3"])
        }
    }

    @Test("the short way holds an event as the long way does, and takes none that is too large or goes elsewhere")
    func heldShortly() throws {
        let side = SendingSide()
        side.put(1)
        let sequence = try #require(side.hold(2))
        side.put(3)
        #expect(try side.write() == ["1"])
        #expect(try side.write() == [])
        side.release(sequence)
        #expect(try side.write() == ["2", "3"])
        #expect(side.hold(4, payload: [UInt8](repeating: 0, count: 4_096)) == nil)
        side.takeNoMore(of: "Box")
        #expect(side.hold(4) == nil)
        #expect(side.books.accepted == side.books.others)
    }

    @Test("the short way uses the room that was kept for an event, and keeps to the limit without it")
    func heldInKeptRoom() {
        let side = SendingSide(windowEvents: nil)
        var kept: [Int] = []
        while side.problem() == nil { kept.append(side.reserve()) }
        #expect(side.hold(1) == nil)
        for (index, bytes) in kept.enumerated() { #expect(side.hold(UInt64(index), reserved: bytes) != nil) }
        #expect(side.hold(99) != nil)
    }

    @Test("the window lets out as many as the peer has granted, and as many more as it has handled")
    func window() throws {
        for policies in [[:], Self.policies] {
            let side = SendingSide(policies, windowEvents: 3)
            for number in UInt64(1)...8 { side.put(number) }
            #expect(try side.write() == ["1", "2", "3"])
            #expect(!side.hasWritable)
            try side.acknowledge(0, [2...2])
            #expect(side.hasWritable)
            #expect(try side.write() == ["4"])
            try side.acknowledge(4)
            #expect(try side.write() == ["5", "6", "7"])
            #expect(side.books.accepted == 8 && side.books.others == 8)
        }
    }

    @Test("what a policy has dropped leaves as a gap in its place; one that took another's place leaves none")
    func gaps() throws {
        let side = SendingSide(Self.policies, windowEvents: 1)
        for number in UInt64(1)...16 { side.put(number, "New") }
        #expect(side.put(17, "New") == .dropped)
        let key: [UInt8] = [0xA1, 0x61, 0x6B, 0x01]
        #expect(try side.write() == ["1"])
        try side.acknowledge(1)
        side.put(18, "Last", payload: key)
        side.put(19, "Last", payload: key)
        #expect(side.evicted == [17, 18])
        for number in UInt64(2)...16 {
            #expect(try side.write() == ["\(number)"])
            try side.acknowledge(number)
        }
        var left: [String] = []
        while side.hasWritable {
            left += try side.write()
            try side.acknowledge(side.lastComposed)
        }
        #expect(left == ["gap of 1", "19"])
        #expect(side.isEmpty)
        #expect(side.books.accepted == side.books.others)
    }

    /// The value of a key in an event whose policy is `latest`, with so many further bytes.
    private static func value(_ key: UInt8, _ bytes: Int = 0) -> [UInt8] {
        [0xA2, 0x61, 0x6B, key, 0x61, 0x7A, 0x59, UInt8(bytes >> 8), UInt8(bytes & 0xFF)]
            + [UInt8](repeating: 0, count: bytes)
    }

    @Test("the latest takes the room of the one that it replaces; a larger one that finds no more room replaces none")
    func latestBeyondTheLimit() throws {
        let side = SendingSide(Self.policies, windowEvents: nil)
        side.put(1, "Last", payload: Self.value(1))
        side.put(2, "Last", payload: Self.value(2))
        // Other processes have accepted more events than have room.
        for number in UInt64(10)...29 { side.put(number, isAccepted: true) }
        guard case .accepted = side.put(3, "Last", payload: Self.value(1)) else { return #expect(Bool(false)) }
        #expect(side.evicted == [1])
        #expect(side.put(4, "Last", payload: Self.value(2, 2_000)) == .dropped)
        #expect(side.put(5, "Last", payload: Self.value(3)) == .dropped)
        #expect(side.evicted == [1, 4, 5])
        #expect(side.books.accepted == side.books.others)
        side.establish(windowEvents: 64)
        #expect(side.becomeReady() == nil)
        var left: [String] = []
        while side.hasWritable { left += try side.write() }
        #expect(left == ["2"] + (10...29).map { "\($0)" } + ["3", "gap of 2"])
    }

    @Test("a larger value replaces the older one, and drops others for the rest of its room; alone it needs none")
    func largerLatest() {
        let side = SendingSide(Self.policies, windowEvents: nil)
        // As many as have room; the third is replaced, and the first two make room for the larger value.
        for key in UInt8(1)...16 { side.put(UInt64(key), "Last", payload: Self.value(key)) }
        guard case .accepted = side.put(17, "Last", payload: Self.value(3, 600)) else {
            Issue.record("the larger value was not taken")
            return
        }
        #expect(side.evicted.first == 3 && side.evicted.dropFirst().elementsEqual([1, 2]), "\(side.evicted)")
        #expect(side.books.accepted == side.books.others)

        let alone = SendingSide(Self.policies, windowEvents: nil, frameBytes: 1 << 20)
        for (number, bytes) in [(1, 5_000), (2, 5_100), (3, 5_200)] {
            guard case .accepted = alone.put(UInt64(number), "Last", payload: Self.value(1, bytes)) else {
                Issue.record("\(number) was not taken")
                return
            }
        }
        #expect(alone.evicted == [1, 2])
        #expect(alone.put(4, "Last", payload: Self.value(2, 5_000)) == .dropped)
    }

    @Test("what is missing is said before what comes after it, where every event waits for room")
    func notedGap() throws {
        let side = SendingSide()
        side.put(1)
        side.note(Gap(EventID(source: side.source, number: 2), name: "Box", reason: .full))
        side.put(3)
        #expect(try side.write() == ["1", "gap of 1", "3"])
    }

    @Test("a gap that is larger than the peer's frames names fewer origins, and counts all events")
    func largeGap() throws {
        let gaps = (10..<74).map { number in
            let source = EventSource(origin: String(repeating: "o", count: 100) + "\(number)", incarnation: 1)
            return Gap(EventID(source: source, number: 1), name: "Box", reason: .full)
        }
        // The gap is written once the peer has said how large its frames may be; before that; or for its next process.
        for (isEarly, moves) in [(false, false), (true, false), (true, true)] {
            let first = SendingSide(windowEvents: nil)
            let side = moves ? SendingSide(windowEvents: nil) : first
            if !isEarly { side.establish(frameBytes: 3_000) }
            first.put(1)
            for gap in gaps { first.note(gap) }
            first.put(2)
            if moves { #expect(first.move(to: side) == nil) }
            if isEarly { side.establish(frameBytes: 3_000) }
            #expect(side.becomeReady() == nil)
            let bodies = try side.writeBodies()
            try #require(bodies.count == 3)
            #expect(bodies.allSatisfy { $0.count <= 3_000 })
            let frame = try bodies[1].withUnsafeBytes { try GapFrame(decoding: $0, limits: LinkLimits()) }
            #expect(frame.count == 64)
            #expect((1..<64).contains(frame.ranges.count))
        }
    }

    // MARK: - Settling

    @Test("what the peer may say of events that were never sent, and of gaps: nothing")
    func violations() throws {
        let side = SendingSide()
        side.put(1)
        side.note(Gap(EventID(source: side.source, number: 2), name: "Box", reason: .full))
        #expect(throws: LinkViolation.self) { try side.acknowledge(1) }
        #expect(throws: LinkViolation.self) { _ = try side.refuse(1) }
        side.put(3)
        try side.write()
        #expect(throws: LinkViolation.self) { try side.acknowledge(4) }
        #expect(throws: LinkViolation.self) { _ = try side.refuse(2) }
        #expect(throws: LinkViolation.self) { _ = try side.refuse(0) }
        #expect(try side.refuse(3))
        // A second refusal changes nothing.
        #expect(try !side.refuse(3))
        try side.acknowledge(3)
        #expect(side.isEmpty && side.books.accepted == side.books.others)
    }

    @Test("a peer that acknowledges nothing has settled what was written, and may say nothing of it")
    func unconfirmed() throws {
        let side = SendingSide(features: .acknowledgesNothing)
        for number in UInt64(1)...6 { side.put(number, wantsReceipt: number % 2 == 0) }
        // Each write settles the events that the window has let out.
        #expect(try side.write() == ["1", "2", "3", "4"])
        #expect(side.takeUnconfirmed() == [2, 4])
        #expect(side.takeUnconfirmed() == [])
        #expect(try side.write() == ["5", "6"])
        #expect(side.takeUnconfirmed() == [6])
        #expect(side.unconfirmedCount == 6 && side.isEmpty)
        #expect(side.books.accepted == side.books.others)
        #expect(throws: LinkViolation.self) { try side.acknowledge(6) }
        #expect(throws: LinkViolation.self) { _ = try side.refuse(6) }
        // No time is measured for a peer that never acknowledges.
        #expect(side.settlingCount == 0)
    }

    @Test("how long the peer takes is measured in the host, of one event after the other")
    func settlingTime() throws {
        for role in [LinkPhaseMachine.Role.host, .worker] {
            let side = SendingSide(role: role)
            for number in UInt64(1)...2 { side.put(number) }
            try side.write()
            try side.acknowledge(2)
            side.put(3)
            try side.write()
            _ = try side.refuse(3)
            #expect(side.settlingCount == (role == .host ? 2 : 0))
        }
    }

    @Test("asked to end, it is settled with what lay there then, whatever is put in after that")
    func drained() throws {
        let side = SendingSide()
        side.put(1)
        side.put(2)
        side.drain()
        side.put(3)
        try side.write()
        try side.acknowledge(1)
        #expect(!side.isSettled)
        try side.acknowledge(2)
        #expect(side.isSettled && !side.isEmpty)
    }

    @Test("a host ends a peer that has handled more than twice the hard limit and settles none of it")
    func owed() throws {
        for role in [LinkPhaseMachine.Role.host, .worker] {
            let side = SendingSide(role: role, windowEvents: 1_000)
            for number in UInt64(1)...131 { side.put(number, isAccepted: true) }
            try side.write()
            // Handled events are kept after the first, unhandled one.
            try side.acknowledge(0, [2...130])
            try side.checkOwed()
            try side.acknowledge(0, [2...131])
            if role == .host {
                #expect(throws: LinkViolation.self) { try side.checkOwed() }
            } else {
                try side.checkOwed()
            }
        }
    }

    @Test("a host does not end a peer for one event above that limit, but for what the peer owes besides")
    func owedOneLargeEvent() throws {
        let side = SendingSide(windowEvents: 1_000, frameBytes: 1 << 20)
        side.put(1, isAccepted: true)
        side.put(2, payload: [UInt8](repeating: 0, count: 4 * side.hardBytes), isAccepted: true)
        for number in UInt64(3)...131 { side.put(number, isAccepted: true) }
        try side.write()
        try side.acknowledge(0, [2...130])
        try side.checkOwed()
        try side.acknowledge(0, [2...131])
        #expect(throws: LinkViolation.self) { try side.checkOwed() }
    }

    @Test("replayed events cost nothing each time a caller asks and no event was settled", .timeLimit(.minutes(1)))
    func replays() throws {
        let side = SendingSide(windowEvents: 100_000, hardBytes: 64 << 20)
        for number in UInt64(1)...10_000 { side.putReplay(number) }
        try side.write()
        // A search through all of them each time would take minutes.
        for _ in 0..<1_000_000 where !side.takeSettledReplays().isEmpty { Issue.record("an event was settled") }
        try side.acknowledge(2)
        #expect(side.takeSettledReplays() == [1, 2])
        #expect(side.takeSettledReplays().isEmpty)
    }

    // MARK: - Succession

    @Test("the next one gets what is not settled, in order, with another attempt if it had left, and then what waited")
    func succession() throws {
        for policies in [[:], Self.policies] {
            let (side, next) = (SendingSide(policies, windowEvents: 3), SendingSide(policies, windowEvents: 20))
            for number in UInt64(1)...6 { side.put(number, wantsReceipt: number == 2) }
            try side.write()
            try side.acknowledge(0, [2...2])
            #expect(side.unfinished == [1, 3])
            #expect(side.move(to: next) == nil)
            #expect(try next.write() == ["1, attempt 2", "3, attempt 2", "4", "5", "6"])
            // The event was handed out twice, so next comes its third attempt.
            let third = SendingSide(policies, windowEvents: 20)
            _ = next.move(to: third)
            let left = try third.write()
            #expect(left.first == "1, attempt 3" && left.last == "6, attempt 2")
        }
    }

    @Test("one that has killed its receiver can be left out, and its strikes go with the others")
    func leftOut() throws {
        let (side, next) = (SendingSide(), SendingSide())
        for number in UInt64(1)...2 { side.put(number) }
        #expect(side.crashed([1]) == .struck(sequence: 1, strikes: ["crashed"]))
        let found = side.move(to: next, without: 1)
        #expect(found?.context.id.number == 1 && found?.strikes == ["crashed"] && found?.attempts == 0)
        #expect(try next.write() == ["2"])
    }

    @Test("taken out for good, everything comes out, and what is waited for is known before")
    func takenOut() throws {
        for policies in [[:], Self.policies] {
            let side = SendingSide(policies, windowEvents: 2)
            for number in UInt64(1)...4 { side.put(number, wantsReceipt: number % 2 == 0) }
            try side.write()
            #expect(side.awaited == [2, 4])
            let left = side.takeAll()
            #expect(left.map(\.context.id.number) == [1, 2, 3, 4])
            #expect(left.map(\.attempts) == [1, 1, 0, 0])
            #expect(left.allSatisfy { $0.name == "Box" && $0.payload == [0xA0] })
        }
    }

    @Test("the steps of events are noted while they are wanted")
    func steps() throws {
        let side = SendingSide(Self.policies, windowEvents: 1)
        side.put(1)
        #expect(side.steps() == [])
        side.setTraced(true)
        side.put(2)
        for number in UInt64(3)...17 { side.put(number, "Old") }
        let noted = side.steps()
        #expect(noted.first == "waits 2" && noted.contains("dropped 3") && noted.last == "waits 17")
        try side.write()
        #expect(side.steps() == ["appended 1 as 1"])
        side.put(18, "Old")
        side.put(19, "Old")
        #expect(side.steps() == ["dropped 4", "waits 18", "dropped 5", "waits 19"])
        side.setTraced(false)
        side.put(20, "Old")
        #expect(side.steps() == [])
    }

    // MARK: - Lives

    @Test("random lives: the books balance, order is kept, limits hold, and in the end everything is settled")
    func lives() throws {
        for seed in UInt64(1)...200 {
            var random = SeededGenerator(seed: seed)
            let isPlain = Bool.random(using: &random)
            let windowEvents = UInt64.random(in: 1...6, using: &random)
            let side = SendingSide(isPlain ? [:] : Self.policies, windowEvents: windowEvents)
            let names = isPlain ? ["Box"] : ["Box", "New", "Old", "Last", "Fail"]
            var held: [UInt64] = []
            var left: [UInt64] = []
            var number: UInt64 = 0
            func note(_ written: [String]) { left += written.compactMap { UInt64($0) } }
            for _ in 0..<300 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0...4:
                    number += 1
                    let isHeld = Int.random(in: 0..<12, using: &random) == 0
                    let key = UInt8.random(in: 0..<4, using: &random)
                    let name = names.randomElement(using: &random) ?? "Box"
                    let outcome = side.put(number, name, payload: [0xA1, 0x61, 0x6B, key], isHeld: isHeld)
                    if isHeld, case .accepted(let ticket, _) = outcome { held.append(ticket) }
                case 5: if !held.isEmpty { side.release(held.removeFirst()) }
                case 6: side.setPaused(Bool.random(using: &random))
                case 7...8: note(try side.write())
                default:
                    // The peer handles some of its events, in any order, and refuses one now and then.
                    guard side.firstSequence <= side.lastComposed else { break }
                    let sent = side.firstSequence...side.lastComposed
                    let one = UInt64.random(in: sent, using: &random)
                    if Int.random(in: 0..<6, using: &random) == 0 { _ = try? side.refuse(one) }
                    try side.acknowledge(side.firstSequence - 1, [one...one])
                    if Bool.random(using: &random) { try side.acknowledge(one) }
                }
                #expect(side.books.accepted == side.books.others, "seed \(seed)")
                // At most one frame more than the limit, and gaps.
                let bound = side.hardBytes + LinkLimits.minimumCharge * (2 + names.count)
                #expect(side.keptBytes <= bound, "seed \(seed)")
            }
            for ticket in held { side.release(ticket) }
            side.setPaused(false)
            try side.acknowledge(side.lastComposed)
            while side.hasWritable {
                note(try side.write())
                try side.acknowledge(side.lastComposed)
            }
            #expect(side.isEmpty && side.isSettled, "seed \(seed)")
            #expect(left == left.sorted() && Set(left).count == left.count, "seed \(seed)")
            #expect(side.books.accepted == side.books.others, "seed \(seed)")
        }
    }
}
