import BridgeProtocol
import DomainEvents
import TestSupport
import Testing

@testable import BridgeTransport
@testable import EventRouting

@Suite("A gap that is noted when its receiver's link has ended", .timeLimit(.minutes(1)))
struct GapRenewalTests {
    private static let name = "ParcelSaved"

    /// A peer whose link has ended, and which has no other link yet.
    private func downPeer(_ bench: RoutingBench) throws -> Peer {
        let peer = bench.peer("worker", wants: [Self.name])
        bench.router.exchange(adding: [peer])
        let sink = SilentSink()
        let (near, far) = MemoryStream.pair(poller: bench.poller)
        let link = peer.link
        try link.start(over: near, control: sink)
        link.establish(as: EventSource(origin: "worker", incarnation: 7))
        far.close()
        waitUntil { link.hasEnded }
        withExtendedLifetime(sink) {}
        return peer
    }

    @Test("reaches the next incarnation if an event found no room")
    func noRoom() throws {
        let bench = try RoutingBench()
        let peer = try downPeer(bench)
        let id = bench.makeContext().id
        let error = DeliveryError(.outboxFull, of: Self.name, id: id, at: "worker", "no room")
        bench.router.announce(Topic.Loss(peer: peer, id: id, error: error, event: nil), of: Self.name)
        #expect(peer.link.kept == 1)
        bench.router.stop()
    }

    @Test("reaches the next incarnation if another worker dropped the events")
    func relayed() throws {
        let bench = try RoutingBench()
        let sender = bench.peer("sender")
        bench.router.exchange(adding: [sender])
        let peer = try downPeer(bench)
        sender.link.establish(as: EventSource(origin: "sender", incarnation: 7))
        let range = GapFrame.Range(first: .sender(number: 1), last: 1)
        let gap = GapFrame(sequence: 1, name: .text(Self.name), count: 1, reason: 1, ranges: [range])
        try bench.router.gapReceived(gap, from: sender, over: sender.link)
        #expect(peer.link.kept == 1)
        bench.router.stop()
    }
}
