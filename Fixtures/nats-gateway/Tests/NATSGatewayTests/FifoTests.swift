import Testing

@testable import NATSGateway

@Suite struct FifoTests {
    private final class Counted: Sendable {}

    @Test(arguments: 0..<50) func elementsLeaveInTheirOrder(_ seed: UInt64) {
        var random = SeededGenerator(seed)
        var fifo = Fifo<Int>()
        var model: [Int] = []
        for number in 0..<2_000 {
            switch random.next(below: 9) {
            case 0...4:
                fifo.append(number)
                model.append(number)
            case 5 where random.next(below: 20) == 0:
                let removed = fifo.remove { $0 % 3 == 0 }
                #expect(removed == model.filter { $0 % 3 == 0 })
                model.removeAll { $0 % 3 == 0 }
            default:
                let found = fifo.popFirst()
                #expect(found == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(fifo.count == model.count && fifo.isEmpty == model.isEmpty)
            if model.isEmpty { continue }
            let index = random.next(below: model.count)
            #expect(fifo[index] == model[index])
        }
    }

    @Test func whatHasLeftIsNotKept() {
        var fifo = Fifo<Counted>()
        weak var first: Counted?
        do {
            let counted = Counted()
            first = counted
            fifo.append(counted)
        }
        fifo.append(Counted())
        #expect(first != nil)
        _ = fifo.popFirst()
        #expect(first == nil)
    }
}
