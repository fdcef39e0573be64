import BridgeControl
import Testing

@testable import BridgeClient

@Suite("A list of dead letters in pieces")
struct DeadLetterListTests {
    private func answer(_ numbers: [UInt64], isComplete: Bool = false) -> DeadLettersReported {
        let letters = numbers.map {
            DeadLetterReport(letter: $0, event: "Job", id: "a-1", worker: "a", cause: "refused")
        }
        return DeadLettersReported(letters: letters, isComplete: isComplete)
    }

    @Test("grows as long as each answer goes on where the one before ended")
    func grows() {
        var list = DeadLetterList()
        var isTaken = list.append(answer([3, 5]))
        #expect(isTaken && list.last == 5 && !list.isComplete)
        isTaken = list.append(answer([6, .max], isComplete: true))
        #expect(isTaken && list.isComplete)
        #expect(list.letters.map(\.letter) == [3, 5, 6, .max])
        var empty = DeadLetterList()
        isTaken = empty.append(answer([], isComplete: true))
        #expect(isTaken && empty.isComplete && empty.letters.isEmpty)
    }

    @Test(
        "takes nothing of an answer that would have no end, or is too long",
        arguments: [[], [0], [4], [5], [6, 6], [7, 6], [6, 0], Array(6...106)] as [[UInt64]]
    )
    func hostile(numbers: [UInt64]) {
        var list = DeadLetterList()
        let isTaken = [list.append(answer([5])), list.append(answer(numbers))]
        #expect(isTaken == [true, false])
        #expect(list.letters.map(\.letter) == [5])
    }
}
