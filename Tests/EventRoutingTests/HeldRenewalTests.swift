import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import EventRouting

/// Takes what comes, and does nothing about it.
final class SilentSink: LinkControlSink {
    func link(_ link: Link, received message: ControlMessage) throws {}
    func linkEnded(_ link: Link, _ end: LinkEnd) {}
}

@Suite("A publisher that is held up between the outboxes of several peers", .timeLimit(.minutes(1)))
struct HeldRenewalTests {
    private static let name = "ParcelSaved"

    /// With this many new starts of the peer meanwhile; on a link whose policy drops events without room, or on a link
    /// that takes all events.
    @Test(
        "keeps its event from a peer that was started anew meanwhile, until the others have it",
        arguments: [1, 2],
        [false, true]
    )
    func heldThroughRestarts(restarts: Int, drops: Bool) throws {
        let bench = try RoutingBench()
        var limits = LinkLimits()
        if drops {
            limits.outboxBytes = LinkLimits.minimumCharge
            limits.overflow = OverflowPolicies([Self.name: .dropNewest])
        }
        let peer = bench.peer("worker", limits: limits)
        let first = try #require(try peer.put(bench.makeContext(), Self.name, isHeld: true))
        let second = try #require(try peer.put(bench.makeContext(), Self.name, isHeld: true))
        #expect(second.evicted.count == (drops ? 1 : 0))
        for _ in 1...restarts { _ = peer.incarnationCrashed(peer.link, because: "a crash", suspects: []) }
        let next = peer.link
        let sink = SilentSink()
        let (near, far) = MemoryStream.pair(poller: bench.poller)
        try next.start(over: near, control: sink)
        next.establish(as: EventSource(origin: "worker", incarnation: 7))
        peer.releaseEvents(over: next)
        // The unfinished events are those that have left, because nothing is settled.
        #expect(next.unfinished.isEmpty)
        second.link.release(second.sequence)
        peer.releaseEvents(over: next)
        #expect(next.unfinished.isEmpty)
        first.link.release(first.sequence)
        waitUntil { next.unfinished.count >= (drops ? 1 : 2) }
        far.close()
        withExtendedLifetime(sink) {}
    }
}
