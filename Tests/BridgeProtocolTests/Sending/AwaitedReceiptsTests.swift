import DomainEvents
import Testing

@testable import BridgeProtocol

@Suite("The events for which a worker owes receipts")
struct AwaitedReceiptsTests {
    private let source = EventSource(origin: "host", incarnation: 1)

    private func id(_ number: UInt64) -> EventID { EventID(source: source, number: number) }

    @Test("are forgotten with their first receipts")
    func once() {
        var receipts = AwaitedReceipts()
        receipts.expect(id(1), sequence: 1, oldest: 1)
        let counted = [2, 1, 1].map { receipts.receiptCame(of: id($0)) }
        #expect(counted == [false, true, false])
    }

    @Test("are bounded if no receipts come: those in the outbox stay, and of the settled ones the newest")
    func bound() {
        var receipts = AwaitedReceipts()
        let (all, unsettled): (UInt64, UInt64) = (50_000, 10_000)
        for sequence in 1...all {
            let oldest = sequence > unsettled ? sequence - unsettled + 1 : 1
            receipts.expect(id(sequence), sequence: sequence, oldest: oldest)
        }
        let known = (1...all).filter { receipts.receiptCame(of: id($0)) }
        let surely = unsettled + 4_096
        #expect(known.suffix(Int(surely)) == Array(all - surely + 1...all))
        #expect(UInt64(known.count) <= unsettled + 2 * 4_096)
    }
}
