import BridgeProtocol
import DomainEvents
import Testing

/// Two threads take the numbers of their events before they reach the outbox, so the numbers may come in any order.
@Suite("What a receiver is told that it may forget")
struct SettledMarkTests {
    @Test("nothing, with an event that comes again: an event with a lower number may come again behind it")
    func numbersOutOfOrder() throws {
        let side = SendingSide()
        side.put(6)
        side.put(5)
        // Behind the mark, 5 comes for the first time.
        #expect(try side.writeMarks() == ["6 below 6", "5"])
        let next = SendingSide()
        #expect(side.move(to: next) == nil)
        #expect(try next.writeMarks() == ["6", "5"])
        // Once they are settled, the receiver may forget them.
        try next.acknowledge(2)
        next.put(7)
        #expect(try next.writeMarks() == ["7 below 7"])
    }

    @Test("nothing of what was handed out before, with an event that was not")
    func handedOutInPart() throws {
        let side = SendingSide(windowEvents: 2)
        for number: UInt64 in [6, 5, 8, 7] { side.put(number) }
        #expect(try side.writeMarks() == ["6 below 6", "5"])
        let next = SendingSide()
        #expect(side.move(to: next) == nil)
        #expect(try next.writeMarks() == ["6", "5", "8", "7"])
        try next.acknowledge(2)
        next.put(9)
        #expect(try next.writeMarks() == ["9"])
    }

    @Test("nothing any more once an event has become a dead letter, not even by the next link's first event")
    func letters() throws {
        let (side, next) = (SendingSide(windowEvents: 1), SendingSide())
        for number in UInt64(1)...2 { side.put(number) }
        #expect(try side.writeMarks() == ["1 below 1"])
        side.willOwe()
        #expect(side.move(to: next, without: 1)?.context.id.number == 1)
        #expect(try next.writeMarks() == ["2"])
        try next.acknowledge(1)
        next.put(3)
        #expect(try next.writeMarks() == ["3"])
    }

    @Test("nothing as long as a refused event may become a dead letter; for good, if another link comes meanwhile")
    func undecided() throws {
        let (side, next) = (SendingSide(), SendingSide())
        // An earlier link has held the refusal.
        side.refusalIsDecided()
        for _ in 1...2 { side.refusalIsHeld() }
        for number in UInt64(1)...3 {
            side.put(number)
            #expect(try side.writeMarks() == [number == 3 ? "3 below 3" : "\(number)"])
            try side.acknowledge(number)
            side.refusalIsDecided()
        }
        side.refusalIsHeld()
        #expect(side.move(to: next) == nil)
        next.refusalIsDecided()
        next.put(4)
        #expect(try next.writeMarks() == ["4"])
    }
}
