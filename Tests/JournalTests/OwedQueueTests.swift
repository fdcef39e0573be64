import DomainEvents
import TestSupport
import Testing

@testable import Journal

@Suite("Owed events in the order of their numbers")
struct OwedQueueTests {
    private static let source = EventSource(origin: "host", incarnation: 1)
    private static let other = EventSource(origin: "canvas", incarnation: 1)

    private static let receiver = NotedReceiver(name: "a")

    private static func append(_ id: EventID, at position: UInt64, to queue: inout OwedQueue) -> Bool {
        let owed = [OwedReceiver(name: receiver.name, isSpecified: true)]
        return EventContext(id: id, nanosecondsSinceEpoch: 0).withBorrowed { context in
            queue.append(context.borrowedID, at: position, published: 0, owedTo: owed, hostStarts: 0)
        }
    }

    private static func end(
        _ source: EventSource,
        _ range: ClosedRange<UInt64> = 0 ... .max,
        in queue: inout OwedQueue
    ) {
        queue.end(source, range, of: receiver, doubtfulUpTo: 0)
    }

    private static func id(_ number: UInt64) -> EventID { EventID(source: source, number: number) }

    @Test("An event of another source, or out of order, is taken only if no event is left")
    func order() {
        var queue = OwedQueue()
        let others = [Self.id(5), Self.id(4), EventID(source: Self.other, number: 6)]
        for id in others {
            let isTaken = [Self.append(Self.id(5), at: 1, to: &queue), Self.append(id, at: 2, to: &queue)]
            #expect(isTaken == [true, false])
            Self.end(Self.source, in: &queue)
            let isTakenLater = Self.append(id, at: 3, to: &queue)
            #expect(isTakenLater && queue.oldest?.position == 3 && queue.place(of: id) != nil)
            Self.end(id.source, in: &queue)
            #expect(queue.isEmpty && queue.oldest == nil && queue.place(of: id) == nil)
        }
    }

    @Test("Whichever events leave, the others are found by their numbers", .timeLimit(.minutes(5)))
    func leaving() {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(20) {
            var queue = OwedQueue()
            var left: Set<UInt64> = []
            var next: UInt64 = 1
            for _ in 0..<1_000 {
                next += random.below(4) == 0 ? UInt64(random.below(5)) : 0
                let isTaken = Self.append(Self.id(next), at: next, to: &queue)
                #expect(isTaken)
                left.insert(next)
                next += 1
                let low = random.below(3) == 0 ? left.min() ?? 0 : UInt64(random.below(Int(next)))
                let range = low...low + UInt64(random.below(3))
                if random.below(20) == 0, let place = queue.place(of: Self.id(low)) {
                    let taken = queue.take(at: place)
                    #expect(taken.position == low && taken.debts.map(\.receiver.name) == ["a"])
                    left.remove(low)
                } else if random.below(3) > 0 {
                    Self.end(Self.source, range, in: &queue)
                    left.subtract(range)
                }
                Self.end(Self.other, in: &queue)
                #expect(queue.oldest?.position == left.min() && queue.isEmpty == left.isEmpty)
            }
            for number in 0...next { #expect((queue.place(of: Self.id(number)) != nil) == left.contains(number)) }
            Self.end(Self.source, in: &queue)
            #expect(queue.isEmpty)
        }
    }

    @Test("The ledger of a running host says the same as the ledger of its records", .timeLimit(.minutes(5)))
    func ledgers() {
        var random = SeededGenerator.announced()
        let (sources, names) = ([Self.source, Self.other], ["a", "b"])
        for _ in 0..<rounds(500) {
            var (running, opened) = (CustodyLedger(), CustodyLedger())
            var highest: [UInt64] = [1, 1]
            func note(_ note: CustodyNote) {
                running.noted(note)
                opened.noted(note)
            }
            for position in 1...UInt64(random.below(150) + 1) {
                let index = random.below(6) == 0 ? 1 : 0
                let receiver = NotedReceiver(name: names[random.below(2)])
                let some = UInt64(random.below(Int(highest[index])) + 1)
                let id = EventID(source: sources[index], number: some)
                switch random.below(24) {
                case 0..<12:
                    // Most numbers are new, and the highest.
                    if random.below(8) > 0 { highest[index] += UInt64(random.below(3) + 1) }
                    let event = EventID(source: id.source, number: random.below(8) > 0 ? highest[index] : some)
                    let owed = names.filter { _ in random.below(3) > 0 }.map {
                        OwedReceiver(name: $0, isSpecified: true)
                    }
                    let context = EventContext(id: event, nanosecondsSinceEpoch: 0)
                    let record = JournalRecord(position: position, name: "Counted", context: context, payload: [])
                    context.withBorrowed { running.recorded($0, at: position, owedTo: owed) }
                    opened.recorded(event, at: position, published: 0, owedTo: owed, as: record)
                case 12..<20:
                    let range = some...some + UInt64(random.below(5))
                    note(.settled(source: id.source, ranges: [range], by: receiver))
                case 20: note(.strike(id, at: receiver, reason: "x"))
                case 21: note(.letter(.refused(id, by: receiver)))
                case 22: note(.letterGone(id, of: receiver, isOwedAgain: random.below(2) == 0))
                default:
                    if random.below(3) == 0 {
                        running.eventsAreMissing()
                        opened.eventsAreMissing()
                    } else {
                        note(.hostStarted(incarnation: position))
                    }
                }
                #expect(running.lowestPosition == opened.lowestPosition && running.isEmpty == opened.isEmpty)
            }
            // What is left is ended debt by debt.
            note(.hostStarted(incarnation: 0))
            for (source, last) in zip(sources, highest) {
                for number in 1...last {
                    for name in names {
                        let receiver = NotedReceiver(name: name)
                        note(.settled(source: source, ranges: [number...number], by: receiver))
                        #expect(running.lowestPosition == opened.lowestPosition)
                        note(.letterGone(EventID(source: source, number: number), of: receiver, isOwedAgain: false))
                        #expect(running.lowestPosition == opened.lowestPosition)
                    }
                }
            }
            #expect(running.isEmpty && opened.isEmpty)
        }
    }
}
