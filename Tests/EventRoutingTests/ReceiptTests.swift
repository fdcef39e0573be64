import BridgeProtocol
import DomainEvents
import Testing

@testable import EventRouting

@Suite("The host's receipt for an event that it has passed on")
struct ReceiptTests {
    @Test("names no more processes than its receiver takes, and then says that there are more")
    func manyProcesses() {
        let most = LinkLimits().processNames
        func receipt(_ count: Int) -> Settlement.Receipt {
            Settlement.Receipt(
                id: EventID(origin: "canvas", incarnation: 1, number: 1),
                process: "host",
                passedOnTo: (0..<count).map { "worker-\($0)" },
                losses: []
            )
        }
        let whole = receipt(most)
        #expect(whole.passedOnTo.count == most && whole.omission == nil)
        let cut = receipt(most + 4)
        #expect(cut.passedOnTo == whole.passedOnTo)
        #expect(cut.omission == "it was passed on to \(most + 4) processes, and a receipt names \(most) at most")
    }
}
