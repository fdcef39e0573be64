import DomainEvents
import TestSupport
import Testing

@testable import Journal

@Suite("Notes that wait for a segment")
struct WaitingNotesTests {
    private static func settled(_ origin: String, _ ranges: [ClosedRange<UInt64>], by name: String) -> CustodyNote {
        .settled(
            source: EventSource(origin: origin, incarnation: 1),
            ranges: ranges,
            by: NotedReceiver(name: name)
        )
    }

    @Test("Settled events of one receiver and one source make one note, in whichever order they come")
    func merged() {
        var waiting = WaitingNotes()
        for number in [5, 1, 9, 2, .max, 3, 4, .max - 1] as [UInt64] {
            waiting.add(Self.settled("x", [number...number], by: "a"))
            waiting.add(Self.settled("x", [number...number], by: "b"))
        }
        let ranges: [ClosedRange<UInt64>] = [1...5, 9...9, .max - 1 ... .max]
        #expect(waiting.notes == [Self.settled("x", ranges, by: "a"), Self.settled("x", ranges, by: "b")])
        waiting.removeFirst(1)
        waiting.add(Self.settled("x", [6...6], by: "b"))
        #expect(waiting.notes == [Self.settled("x", ranges, by: "b"), Self.settled("x", [6...6], by: "b")])
    }

    @Test("A note has no more ranges than are read, and waiting notes have a bound")
    func bounds() {
        var waiting = WaitingNotes()
        for number in 0..<UInt64(CustodyNote.mostRanges) + 1 {
            waiting.add(Self.settled("x", [number * 2...number * 2], by: "a"))
        }
        #expect(waiting.notes.count == 2)
        let id = EventID(origin: "x", incarnation: 1, number: 1)
        for number in 0..<10_000 { waiting.add(.strike(id, at: NotedReceiver(name: "a"), reason: "\(number)")) }
        #expect((WaitingNotes.most / 2...WaitingNotes.most).contains(waiting.notes.count))
        #expect(waiting.notes.last == .strike(id, at: NotedReceiver(name: "a"), reason: "9999"))
    }

    @Test("Beyond the bound strikes are lost before other notes, whose loss would cost more")
    func strikesFirst() {
        var waiting = WaitingNotes()
        let receiver = NotedReceiver(name: "a")
        func id(_ number: Int) -> EventID { EventID(origin: "x", incarnation: 1, number: UInt64(number)) }
        let putBack = CustodyNote.letterGone(id(0), of: receiver, isOwedAgain: true)
        waiting.add(putBack)
        for number in 1...10_000 { waiting.add(.strike(id(number), at: receiver, reason: "")) }
        #expect(waiting.notes.first == putBack)
        #expect(waiting.notes.last == .strike(id(10_000), at: receiver, reason: ""))
        // Without strikes, the oldest notes are lost.
        for number in 1...10_000 { waiting.add(.letterGone(id(number), of: receiver, isOwedAgain: false)) }
        #expect((WaitingNotes.most / 2...WaitingNotes.most).contains(waiting.notes.count))
        #expect(waiting.notes.last == .letterGone(id(10_000), of: receiver, isOwedAgain: false))
        #expect(!waiting.notes.contains(putBack))
    }

    @Test("Put together or not, notes leave the same owed", .timeLimit(.minutes(5)))
    func histories() {
        var random = SeededGenerator.announced()
        let (origins, names) = (["x", "y"], ["a", "b"])
        for _ in 0..<rounds(2_000) {
            var (waiting, each) = (WaitingNotes(), CustodyLedger())
            for (index, origin) in (0..<12).map({ ($0, origins[$0 % 2]) }) {
                let id = EventID(origin: origin, incarnation: 1, number: UInt64(index))
                let context = EventContext(id: id, nanosecondsSinceEpoch: 0)
                let record = JournalRecord(position: UInt64(index) + 1, name: "Counted", context: context, payload: [])
                each.recorded(
                    id,
                    at: record.position,
                    published: 0,
                    owedTo: names.map { OwedReceiver(name: $0, isSpecified: true) },
                    as: record
                )
            }
            var together = each
            for _ in 0..<random.below(40) {
                let origin = origins[random.below(2)]
                let receiver = NotedReceiver(name: names[random.below(2)])
                let number = UInt64(random.below(12))
                let id = EventID(origin: origin, incarnation: 1, number: number)
                let note: CustodyNote
                switch random.below(8) {
                case 0: note = .strike(id, at: receiver, reason: "x")
                case 1: note = .letter(.refused(id, by: receiver))
                case 2: note = .letterGone(id, of: receiver, isOwedAgain: random.below(2) == 0)
                default: note = Self.settled(origin, [number...number + UInt64(random.below(3))], by: receiver.name)
                }
                each.noted(note)
                waiting.add(note)
                if random.below(10) == 0, let first = waiting.notes.first {
                    together.noted(first)
                    waiting.removeFirst(1)
                }
            }
            for note in waiting.notes { together.noted(note) }
            let (left, right) = (each.takeOwed().map { "\($0)" }, together.takeOwed().map { "\($0)" })
            #expect(left == right)
        }
    }
}
