import BridgeProtocol
import BridgeTransport
import DomainEvents
import Testing

@testable import EventRouting

/// A gateway that imports events of other machines tells its host which of them it could not keep.
@Suite("A gap of imported events", .timeLimit(.minutes(1)))
struct ImporterGapTests {
    /// Hands a gap to a host, from a worker that may import or may not.
    private func receive(_ origin: String, mayImport: Bool) throws {
        let bench = try RoutingBench()
        let worker = bench.peer("gateway")
        worker.link.establish(as: EventSource(origin: "gateway", incarnation: 7))
        bench.router.add(worker)
        bench.router.start()
        let range = GapFrame.Range(first: .other(origin: origin, incarnation: 3, number: 5), last: 6)
        let gap = GapFrame(sequence: 1, name: .text("Counted"), count: 2, reason: 1, ranges: [range])
        try PeerEvents(of: worker, to: bench.router, mayImport: mayImport).link(worker.link, received: gap)
    }

    @Test("may come from a worker that may import, and from no other; none is of this machine's other processes")
    func rights() throws {
        try receive("rome/orders", mayImport: true)
        #expect(throws: LinkViolation.self) { try receive("rome/orders", mayImport: false) }
        #expect(throws: LinkViolation.self) { try receive("orders", mayImport: true) }
    }
}
