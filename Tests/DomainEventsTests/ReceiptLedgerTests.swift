import TestSupport
import Testing

@testable import DomainEvents

@Suite("The receipts of an event whose caller waits", .timeLimit(.minutes(1)))
struct ReceiptLedgerTests {
    /// A bridge, as far as a ledger knows it.
    private final class Bridge: Sendable {
        func process(_ name: String) -> AwaitedProcess { AwaitedProcess(name, of: ObjectIdentifier(self)) }
    }

    private let one = Bridge()
    private let other = Bridge()
    private let ends = Collected<String>()
    private let decisions = Collected<String>()

    private func ledger() -> ReceiptLedger {
        let id = EventID(origin: "host", incarnation: 1, number: 1)
        let context = EventContext(id: id, nanosecondsSinceEpoch: 1)
        return ReceiptLedger(of: "Ping", context: context) { [ends] outcome in
            switch outcome {
            case .failed(let error, let held): ends.add("\(error) is \(held.map { "failure \($0)" } ?? "not held")")
            case .handled(let handlers): ends.add("\(handlers)")
            }
        }
    }

    /// The process refuses the event; the decision is noted under the number.
    private func refuse(_ ledger: ReceiptLedger, at process: AwaitedProcess, _ number: Int) {
        ledger.receive(refusal(at: process, number)) { [decisions] isClaimed in
            decisions.add("\(number) is \(isClaimed ? "claimed" : "unclaimed")")
        }
    }

    private func refusal(at process: AwaitedProcess, _ number: Int) -> ProcessReceipt {
        ProcessReceipt(process: process, handlers: 0, failure: Refused(number: number), isRefusal: true)
    }

    @Test("are told apart by bridge and name: two processes of one name each send their own")
    func oneNameInTwoBridges() {
        let ledger = ledger()
        for bridge in [one, other] { ledger.expect(bridge.process("shelf")) }
        #expect(ledger.unheard == ["shelf"])
        ledger.receive(ProcessReceipt(process: one.process("shelf"), handlers: 1, passedOnTo: ["desk"]))
        #expect(ends.all.isEmpty && ledger.unheard == ["desk", "shelf"] && ledger.handled == ["shelf"])
        // The event was passed on within one bridge.
        ledger.receive(ProcessReceipt(process: other.process("desk"), handlers: 1))
        ledger.receive(ProcessReceipt(process: other.process("shelf"), handlers: 2))
        #expect(ends.all.isEmpty && ledger.unheard == ["desk"])
        ledger.receive(ProcessReceipt(process: one.process("desk"), handlers: 0))
        #expect(ends.all.count == 1 && ends.all[0].contains("\"shelf\": 3"))
    }

    @Test("are missed when their bridge ends, and not when another bridge does")
    func oneBridgeEnds() {
        let ledger = ledger()
        ledger.expect(ledger.own)
        ledger.expect(one.process("shelf"))
        ledger.bridgeEnded(ObjectIdentifier(other), Refused(number: 1))
        #expect(ends.all.isEmpty)
        // The event was just being handed out when the bridge ended.
        ledger.expect(other.process("desk"))
        #expect(ends.all == ["refused 1 is not held"])
        ledger.bridgeEnded(ObjectIdentifier(one), Refused(number: 2))
        #expect(ends.all == ["refused 1 is not held", "refused 2 is not held"])
        ledger.close(claiming: nil)
    }

    // MARK: - Refusals

    @Test("hold refusals until the caller has its outcome: one may be claimed, every other one is not")
    func held() {
        for (claimed, outcome) in [(0, ["claimed", "unclaimed"]), (1, ["unclaimed", "claimed"])] {
            let (ledger, before) = (ledger(), decisions.count)
            for name in ["shelf", "desk"] { ledger.expect(one.process(name)) }
            refuse(ledger, at: one.process("shelf"), 1)
            refuse(ledger, at: one.process("desk"), 2)
            #expect(decisions.count == before)
            #expect(ends.all.last == "refused 1 is failure 0")
            ledger.close(claiming: claimed)
            #expect(Array(decisions.all[before...]) == ["1 is \(outcome[0])", "2 is \(outcome[1])"])
        }
    }

    @Test("of one process share one fate with its refusal, whichever comes first; others do not")
    func oneFate() {
        let ledger = ledger()
        for name in ["shelf", "desk", "lamp"] { ledger.expect(one.process(name)) }
        ledger.receive(refusal(at: one.process("shelf"), 1))
        refuse(ledger, at: one.process("shelf"), 1)
        refuse(ledger, at: one.process("desk"), 2)
        ledger.receive(refusal(at: one.process("desk"), 2))
        // Behind a receipt that says something else, a refusal speaks for itself.
        ledger.receive(ProcessReceipt(process: one.process("lamp"), handlers: 1))
        refuse(ledger, at: one.process("lamp"), 3)
        #expect(ends.all == ["refused 1 is failure 0"] && decisions.all.isEmpty)
        ledger.close(claiming: 0)
        #expect(decisions.all == ["1 is claimed", "2 is unclaimed", "3 is unclaimed"])
        // The ledger may still be known for a moment.
        refuse(ledger, at: one.process("shelf"), 1)
        refuse(ledger, at: one.process("desk"), 2)
        refuse(ledger, at: other.process("shelf"), 4)
        #expect(decisions.all.suffix(3) == ["1 is claimed", "2 is unclaimed", "4 is unclaimed"])
    }

    @Test("give the caller a failure that is held when its time is over or a bridge ends")
    func early() {
        let ledger = ledger()
        for name in ["shelf", "desk"] { ledger.expect(one.process(name)) }
        ledger.timeIsOver(Refused(number: 9))
        refuse(ledger, at: one.process("desk"), 1)
        ledger.timeIsOver(Refused(number: 9))
        ledger.bridgeEnded(ObjectIdentifier(one), Refused(number: 9))
        let known = "refused 1 is failure 0"
        #expect(ends.all == ["refused 9 is not held", known, known])
        ledger.close(claiming: 0)
        #expect(decisions.all == ["1 is claimed"])
    }

    @Test("end early with a loss, which is reported if the caller is told something else or has gone")
    func lost() {
        for claimed in [0, nil] {
            let ledger = ledger()
            ledger.expect(one.process("shelf"))
            for number in 1...3 {
                if number == 3 { ledger.close(claiming: claimed) }
                ledger.lost(Refused(number: number)) { [decisions] in decisions.add("\(number) is \($0)") }
            }
        }
        // The first of several losses is the error; behind the end nothing is.
        #expect(ends.all == Array(repeating: "refused 1 is failure 0", count: 4))
        let decided = ["1 is true", "2 is false", "3 is false", "1 is false", "2 is false", "3 is false"]
        #expect(decisions.all == decided)
    }
}
