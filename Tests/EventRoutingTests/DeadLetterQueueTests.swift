import BridgeProtocol
import DomainEvents
import TestSupport
import Testing

@testable import EventRouting

@Suite("The queue of dead letters", .timeLimit(.minutes(1)))
struct DeadLetterQueueTests {
    private static func letter(_ number: UInt64) -> DeadLetterRecord {
        let id = EventID(origin: "host", incarnation: 1, number: number)
        return DeadLetterRecord(
            number: number,
            notedReceiver: NotedReceiver(name: "a"),
            event: UndeliveredEvent(
                name: "ParcelSaved",
                context: EventContext(id: id, nanosecondsSinceEpoch: 1),
                attempts: 1,
                payload: [0xA0]
            ),
            cause: .refused,
            reasons: [],
            nanosecondsSinceEpoch: 0
        )
    }

    @Test("letters that come, are left by an earlier host, go and come back are found by their numbers, in order")
    func randomLife() {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(200, atLeast: 20) {
            var queue = DeadLetterQueue(bounds: DeadLetterBounds(letters: 40, bytes: 1 << 20, evictsOldest: true))
            var (present, taken): (Set<UInt64>, [DeadLetterRecord]) = ([], [])
            var last = UInt64(random.below(30))
            for number in 1..<last + 1 where random.below(2) == 0 { present.insert(number) }
            queue.restore(present.shuffled(using: &random).map(Self.letter))
            for _ in 0..<200 {
                switch random.below(3) {
                case 0:
                    last += UInt64(1 + random.below(3))
                    for evicted in queue.add(Self.letter(last)) { present.remove(evicted.number) }
                    present.insert(last)
                case 1:
                    let number = UInt64(random.below(Int(last) + 2))
                    let letter = queue.take(number)
                    #expect(letter?.number == (present.remove(number)))
                    if let letter { taken.append(letter) }
                default:
                    guard let letter = taken.popLast() else { continue }
                    queue.putBack(letter)
                    present.insert(letter.number)
                }
                let number = UInt64(random.below(Int(last) + 2))
                #expect(queue.letter(number)?.number == (present.contains(number) ? number : nil))
                #expect(queue.letters(after: number).map(\.number) == present.filter { $0 > number }.sorted())
                #expect(queue.bytes == queue.letters.reduce(0) { $0 + $1.charge })
            }
        }
    }
}
