import BridgeProtocol
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import BridgeTransport
@testable import EventRouting

@Suite("A worker's receipt", .timeLimit(.minutes(1)))
struct ForgedReceiptTests {
    private static let name = "ParcelSaved"
    private let bench: RoutingBench

    init() throws {
        bench = try RoutingBench()
    }

    private func peer(_ name: String, wants names: [String] = []) -> Peer {
        let peer = bench.peer(name, wants: names)
        bench.router.exchange(adding: [peer])
        return peer
    }

    private func establish(_ peer: Peer) {
        peer.link.establish(as: EventSource(origin: peer.peerName, incarnation: 7))
    }

    private func tell(_ id: WireID, by peer: Peer, _ outcome: Receipt.Outcome, text: String = "") throws {
        let receipt = Receipt(
            id: id,
            process: peer.peerName,
            outcome: outcome.rawValue,
            handlers: outcome == .handled ? 1 : 0,
            text: text
        )
        try PeerEvents(of: peer, to: bench.router).link(peer.link, received: receipt)
    }

    @Test("does not end the wait for an event that only another worker got, and makes no failure")
    func deliver() async throws {
        let (stranger, receiver) = (peer("A"), peer("C", wants: [Self.name]))
        for peer in [stranger, receiver] { establish(peer) }
        let context = bench.makeContext()
        async let delivered = bench.router.deliver(
            name: Self.name,
            payload: [0xA0],
            context: context,
            within: .seconds(30)
        )
        try await wait { receiver.link.kept > 0 }
        let id = WireID.receiver(number: context.id.number)
        try tell(id, by: stranger, .refused, text: "no")
        try tell(id, by: receiver, .handled)
        let receipt = try await delivered
        #expect(receipt.handlers == ["C": 1])
        bench.router.stop()
    }

    @Test("does not reach the process whose event it names, if the worker did not get that event")
    func flood() throws {
        let (forger, victim) = (peer("A"), peer("B"))
        establish(forger)
        let sink = SilentSink()
        let (near, far) = MemoryStream.pair(poller: bench.poller)
        let link = victim.link
        try link.start(over: near, control: sink)
        establish(victim)
        // The longest text that the host passes on: 1,024 scalars of four bytes.
        let text = String(repeating: "\u{1F4E6}", count: 1_024)
        for number: UInt64 in 1...1_200 {
            try tell(.other(origin: "B", incarnation: 7, number: number), by: forger, .refused, text: text)
        }
        #expect(link.lock.withLock { link.ending.cause } == nil)
        #expect(!link.hasEnded)
        far.close()
        waitUntil { link.hasEnded }
        withExtendedLifetime(sink) {}
        bench.router.stop()
    }

    @Test("counts once for each time that the worker got the event, over the link of each of its incarnations")
    func successor() throws {
        let receiver = peer("C", wants: [Self.name])
        establish(receiver)
        let context = bench.makeContext()
        try receiver.put(context, Self.name, wantsReceipt: true)
        let other = bench.makeContext()
        try receiver.put(other, Self.name)
        let first = receiver.link
        let next = Link(
            peerName: "C",
            role: .host,
            ownSource: bench.publisher.source,
            limits: LinkLimits(),
            poller: bench.poller
        )
        for link in [first, next] {
            if link === next { first.moveUnsettled(to: next) }
            #expect(!link.receiptCame(of: other.id))
            #expect(link.receiptCame(of: context.id))
            #expect(!link.receiptCame(of: context.id))
        }
        bench.router.stop()
    }
}
