import ChaosLedger
import Testing

@testable import chaos_checker

@Suite("What the chaos checker takes for a fault")
struct ChaosFlowTests {
    private struct Step {
        let number: UInt64
        var attempt: UInt32 = 1
        var life: UInt64 = 1
        var handling = Handling.returned
    }

    /// Lets a flow see these, and gives the first fault with the stock that is taken at the end.
    private func outcome(_ steps: [Step], accepted: UInt64, offered: UInt64? = nil) -> (fault: Fault?, tally: Tally) {
        var flow = Flow(lastSeen: 0)
        var first: Fault?
        for (time, step) in steps.enumerated() {
            let record = HandledRecord(
                incarnation: 7,
                number: step.number,
                stream: 0,
                attempt: step.attempt,
                handling: step.handling
            )
            let fault = flow.add(record, receiver: step.life, time: time)
            first = first ?? fault
        }
        return (first, flow.total(accepted: accepted, offered: offered ?? accepted))
    }

    @Test("nothing, where all come once and in order, or again to the next life with a higher attempt")
    func inOrder() {
        let (fault, tally) = outcome(
            [
                Step(number: 1), Step(number: 2), Step(number: 3, handling: .begun),
                Step(number: 2, attempt: 2, life: 2), Step(number: 3, attempt: 2, life: 2), Step(number: 4, life: 2),
            ],
            accepted: 4
        )
        #expect(fault == nil)
        #expect(tally.faults == 0)
        #expect(tally.handled == 4)
        #expect(tally.redeliveries == 2)
        #expect(tally.highestAttempt == 2)
    }

    @Test("nothing, where a killed sender knew less than it had offered")
    func offeredOnly() {
        let (fault, tally) = outcome([Step(number: 1), Step(number: 2)], accepted: 1, offered: 2)
        #expect(fault == nil)
        #expect(tally.faults == 0)
    }

    @Test("nothing, where a handler threw, or the host gave an event up")
    func settledOtherwise() {
        let (fault, tally) = outcome(
            [Step(number: 1, handling: .threw), Step(number: 3), Step(number: 2, life: 0, handling: .deadLettered)],
            accepted: 3
        )
        #expect(fault == nil)
        #expect(tally.faults == 0)
        #expect(tally.refused == 1)
        #expect(tally.deadLettered == 1)
    }

    @Test("an accepted event that never came, that came last and never, or that began and did not end, is lost")
    func lost() {
        #expect(outcome([Step(number: 1), Step(number: 3)], accepted: 3).tally.lost == 1)
        #expect(outcome([Step(number: 1)], accepted: 3).tally.lost == 2)
        #expect(outcome([], accepted: 2).tally.lost == 2)
        #expect(outcome([Step(number: 1, handling: .begun)], accepted: 1).tally.lost == 1)
    }

    @Test("an event that comes again to the same life, or to another without a higher attempt, is a repeat")
    func repeated() {
        let same = outcome([Step(number: 1), Step(number: 1, attempt: 2)], accepted: 1)
        #expect(same.fault == .twiceInOneLife)
        #expect(same.tally.unannounced == 1)
        let silent = outcome([Step(number: 1), Step(number: 1, attempt: 1, life: 2)], accepted: 1)
        #expect(silent.fault == .unannounced)
        let equal = outcome(
            [Step(number: 1, attempt: 2), Step(number: 1, attempt: 2, life: 2)],
            accepted: 1
        )
        #expect(equal.fault == .unannounced)
        #expect(equal.tally.unannounced == 1)
    }

    @Test("an event behind a later one is out of order, at its first time and again")
    func reordered() {
        let first = outcome([Step(number: 1), Step(number: 3), Step(number: 2)], accepted: 3)
        #expect(first.fault == .reordered)
        #expect(first.tally.reordered == 1)
        #expect(first.tally.lost == 0)
        let again = outcome(
            [
                Step(number: 1), Step(number: 2), Step(number: 3),
                Step(number: 3, attempt: 2, life: 2), Step(number: 2, attempt: 2, life: 2),
            ],
            accepted: 3
        )
        #expect(again.fault == .reordered)
        #expect(again.tally.reordered == 1)
    }

    @Test("an event that nobody offered, or that is not what was sent, is named")
    func invented() {
        #expect(outcome([Step(number: 1), Step(number: 2)], accepted: 1).tally.neverOffered == 1)
        #expect(outcome([Step(number: 1, handling: .damaged)], accepted: 0).fault == .damaged)
    }

    @Test("an event that comes again long after it was settled is a repeat, whatever its attempt")
    func settledLongAgo() {
        let count = 2 * Flow.memory + 1
        let steps = (1...count).map { Step(number: $0) } + [Step(number: 1, attempt: 2, life: 2)]
        let (fault, tally) = outcome(steps, accepted: count)
        #expect(fault == .settledLongAgo)
        #expect(tally.stale == 1)
    }
}
