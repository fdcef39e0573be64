import TestSupport
import Testing

@testable import DomainEvents

@Suite("The receipts of an event whose caller waits", .timeLimit(.minutes(1)))
struct ReceiptLedgerTests {
    /// A bridge, as far as a ledger knows it.
    private final class Bridge: Sendable {
        func process(_ name: String) -> AwaitedProcess { AwaitedProcess(name, of: ObjectIdentifier(self)) }
    }

    private let (one, other) = (Bridge(), Bridge())
    private let ends = Collected<String>()

    private func ledger() -> ReceiptLedger {
        ReceiptLedger(of: "Ping", id: EventID(origin: "host", incarnation: 1, number: 1)) { [ends] handlers, failure in
            ends.add(failure.map { "\($0)" } ?? "\(handlers)")
        }
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
        #expect(ends.all == ["refused 1"])
        ledger.bridgeEnded(ObjectIdentifier(one), Refused(number: 2))
        #expect(ends.all == ["refused 1", "refused 2"])
        ledger.close()
    }
}
