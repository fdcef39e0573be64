import ChaosLedger
import Testing

@testable import chaos_checker

@Suite("What the chaos checker takes for a fault")
struct ChaosFlowTests {
    private struct Step {
        let number: UInt64
        var attempt: UInt32 = 1
        var life: UInt64 = 1
        var lane = 0
        var handling = Handling.returned
    }

    /// Lets a flow see these records, and returns the first fault and the tally at the end.
    private func outcome(
        _ steps: [Step],
        accepted: UInt64,
        offered: UInt64? = nil,
        _ promise: ChaosPromise = .settled
    ) -> (fault: Fault?, tally: Tally) {
        let (flow, first) = flow(steps, promise)
        return (first, flow.total(accepted: accepted, offered: offered ?? accepted))
    }

    private func flow(_ steps: [Step], _ promise: ChaosPromise = .settled) -> (flow: Flow, fault: Fault?) {
        var flow = Flow(promise, lastSeen: 0)
        var first: Fault?
        for (time, step) in steps.enumerated() {
            let record = HandledRecord(
                incarnation: 7,
                number: step.number,
                stream: 0,
                attempt: step.attempt,
                handling: step.handling,
                receiver: .a
            )
            let fault = flow.add(record, receiver: step.life, lane: step.lane, time: time)
            first = first ?? fault
        }
        return (flow, first)
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
            [
                Step(number: 1, handling: .threw), Step(number: 1, life: 0, handling: .deadLettered), Step(number: 3),
                Step(number: 2, life: 0, handling: .deadLettered),
            ],
            accepted: 3
        )
        #expect(fault == nil)
        #expect(tally.faults == 0)
        #expect(tally.missing == 0)
        #expect(tally.refused == 1)
        #expect(tally.deadLettered == 1)
    }

    /// How many events of this tally are lost, with these announcements.
    private func lost(_ tally: Tally, dropped: Int = 0, coalesced: Int = 0, left: Int = 0) -> Int {
        account(tally, dropped: dropped, coalesced: coalesced, left: left).lost
    }

    private func account(_ tally: Tally, dropped: Int = 0, coalesced: Int = 0, left: Int = 0) -> Account {
        Account(
            kind: .forA,
            receiver: .a,
            tally: tally,
            dropped: dropped,
            coalesced: coalesced,
            left: left,
            askersDeaths: 0
        )
    }

    @Test("nothing, where what is missing was announced as dropped, left out for a later one, or left at the end")
    func announced() {
        let tally = outcome([Step(number: 1), Step(number: 4)], accepted: 4, .droppable).tally
        #expect(tally.missing == 2)
        #expect(lost(tally, dropped: 2) == 0)
        #expect(lost(tally, dropped: 1) == 1)
        #expect(lost(tally, dropped: 1, left: 1) == 0)
        let latest = outcome([Step(number: 1), Step(number: 4)], accepted: 4, .latest).tally
        #expect(lost(latest, coalesced: 2) == 0)
        #expect(lost(latest, coalesced: 1) == 1)
    }

    @Test("an event that was announced as dropped and is handled all the same has two fates")
    func droppedAndHandled() {
        let tally = outcome([Step(number: 1), Step(number: 3)], accepted: 3).tally
        #expect(account(tally, dropped: 1).isSettled)
        #expect(account(tally, dropped: 2).droppedAndHandled == 1)
        #expect(!account(tally, dropped: 2).isSettled)
    }

    @Test("where only the newest event counts, the newest is lost if it was not handled")
    func newest() {
        let tally = outcome([Step(number: 1), Step(number: 3)], accepted: 4, .latest).tally
        #expect(tally.newestMissing == 1)
        #expect(lost(tally, coalesced: 2) == 1)
    }

    @Test("an event that was refused, of which there is no dead letter, and of which the caller was not told, is lost")
    func refusedInSilence() {
        let steps = [Step(number: 1, handling: .threw), Step(number: 2, handling: .threw)]
        #expect(lost(outcome(steps, accepted: 2).tally) == 2)
        let lettered = flow(steps + [Step(number: 1, life: 0, handling: .deadLettered)]).flow
        #expect(lost(lettered.total(accepted: 2, offered: 2)) == 1)
        #expect(lost(lettered.total(accepted: 2, offered: 2, told: [2])) == 0)
    }

    @Test("an event of which the caller was told nothing may have come or not")
    func doubtful() {
        let flow = flow([Step(number: 1), Step(number: 3)]).flow
        #expect(flow.total(accepted: 4, offered: 4, doubtful: [2, 4]).missing == 0)
        #expect(flow.total(accepted: 4, offered: 4, doubtful: [2]).missing == 1)
    }

    @Test(
        "an event of which the caller was told nothing is missing for no receiver, whatever may be dropped for it",
        arguments: [ChaosStream.askerDelivers, .askerRequests]
    )
    func doubtfulForAll(stream: ChaosStream) {
        for receiver in stream.receivers {
            let promise = ChaosPromise(stream.kind, from: stream.origin, to: receiver)
            let flow = flow([Step(number: 1), Step(number: 3)], promise).flow
            #expect(flow.total(accepted: 3, offered: 3, doubtful: [2]).missing == 0, "\(receiver)")
            #expect(flow.total(accepted: 3, offered: 3).missing == 1, "\(receiver)")
        }
    }

    @Test("an event that a life had begun and that comes again, or becomes a dead letter, is charged to that life")
    func takenBack() {
        let again = flow([Step(number: 1), Step(number: 2), Step(number: 2, attempt: 2, life: 2)]).flow
        #expect(again.takenBack == [1: 1])
        let given = flow([Step(number: 1), Step(number: 1, life: 3, handling: .deadLettered)]).flow
        #expect(given.takenBack == [1: 1])
        let refused = flow([Step(number: 1, handling: .threw), Step(number: 1, life: 3, handling: .deadLettered)]).flow
        #expect(refused.takenBack.isEmpty)
    }

    @Test("an event of a key that another member of a pool handles is elsewhere")
    func elsewhere() {
        let (fault, tally) = outcome([Step(number: 1, lane: 1), Step(number: 2, life: 2, lane: 2)], accepted: 2)
        #expect(fault == .elsewhere)
        #expect(tally.faults == 1)
    }

    @Test("events that are missing at an attached client without a gap that counts them")
    func attached() {
        let marked = [Step(number: 3), Step(number: 2, handling: .gap), Step(number: 6), Step(number: 9, life: 2)]
        #expect(outcome(marked, accepted: 20, .attached).fault == nil)
        #expect(outcome(marked, accepted: 20, .attached).tally.faults == 0)
        let unmarked = outcome(
            [Step(number: 3), Step(number: 1, handling: .gap), Step(number: 6)],
            accepted: 6,
            .attached
        )
        #expect(unmarked.fault == .unmarked)
        #expect(unmarked.tally.unmarked == 1)
        #expect(outcome([Step(number: 3), Step(number: 2)], accepted: 6, .attached).fault == .reordered)
    }

    @Test("an accepted event that never came, that came last and never, or that began and did not end, is lost")
    func lost() {
        #expect(lost(outcome([Step(number: 1), Step(number: 3)], accepted: 3).tally) == 1)
        #expect(lost(outcome([Step(number: 1)], accepted: 3).tally) == 2)
        #expect(lost(outcome([], accepted: 2).tally) == 2)
        #expect(lost(outcome([Step(number: 1, handling: .begun)], accepted: 1).tally) == 1)
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
        #expect(first.tally.missing == 0)
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

    @Test("an event that no sender offered, or that is not what was sent, is named")
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

    @Test("an event that was left at the end explains one event: a missing one, or one whose refusal was not told")
    func left() {
        func account(missing: Int = 0, newest: Int = 0, untold: Int = 0, left: Int) -> Account {
            var tally = Tally()
            tally.missing = missing
            tally.newestMissing = newest
            tally.untold = untold
            return Account(
                kind: .forA,
                receiver: .a,
                tally: tally,
                dropped: 0,
                coalesced: 0,
                left: left,
                askersDeaths: 0
            )
        }
        #expect(account(missing: 1, left: 1).lost == 0)
        #expect(account(missing: 1, untold: 1, left: 1).lost == 1)
        #expect(account(missing: 1, untold: 1, left: 2).lost == 0)
        // The newest event of a stream is one of the missing ones.
        #expect(account(missing: 1, newest: 1, left: 1).lost == 0)
        #expect(account(missing: 2, newest: 1, untold: 1, left: 3).leftForOthers == 0)
        #expect(account(untold: 1, left: 3).leftForOthers == 2)
    }
}
