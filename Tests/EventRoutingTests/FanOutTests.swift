import Locks
import TestSupport
import Testing

@testable import BridgeProtocol
@testable import BridgeTransport
@testable import DomainEvents
@testable import EventRouting

@Suite("An event for several peers", .timeLimit(.minutes(1)))
struct FanOutTests {
    private static let name = "ParcelSaved"
    private static let payload: [UInt8] = [0xA0]
    private let bench: RoutingBench

    init() throws {
        bench = try RoutingBench()
    }

    private func peer(_ name: String, limits: LinkLimits = LinkLimits()) -> Peer {
        bench.peer(name, wants: [Self.name], limits: limits)
    }

    private func topic(for peers: [Peer]) throws -> Topic {
        for peer in peers { bench.router.add(peer) }
        return try #require(bench.router.named(Self.name))
    }

    private func send(_ topic: Topic, to peers: [Peer]) -> Forwarded {
        Self.payload.withUnsafeBytes {
            topic.sendToAll(
                $0,
                context: bench.makeContext(),
                receipts: nil,
                to: peers,
                attached: [],
                by: bench.router
            )
        }
    }

    /// Keeps no room beforehand, so each peer takes or refuses the event for itself.
    private func sendToEach(_ topic: Topic, of peers: [Peer]) -> Topic.Sent {
        Self.payload.withUnsafeBytes {
            topic.send(
                $0,
                context: bench.makeContext(),
                wantsReceipt: false,
                to: peers,
                attached: [],
                by: bench.router
            )
        }
    }

    private func waiting(_ peers: [Peer]) -> [UInt64] { peers.map(\.statistics.waiting) }

    private func hasKeptRoom(_ peer: Peer) -> Bool {
        let link = peer.link
        return link.lock.withLock { link.sending.reservedBytes != 0 }
    }

    @Test("is held in all outboxes until it is released", arguments: [2, 9])
    func held(count: Int) throws {
        let peers = (1...count).map { peer("worker-\($0)") }
        let topic = try topic(for: peers)
        var held: HeldEvents? = HeldEvents()
        let sent = Self.payload.withUnsafeBytes {
            topic.sendToAll(
                $0,
                context: bench.makeContext(),
                receipts: nil,
                to: peers,
                attached: [],
                held: &held,
                by: bench.router
            )
        }
        #expect(sent.isTaken)
        #expect(peers.allSatisfy { $0.link.isHolding })
        held?.release()
        #expect(!peers.contains { $0.link.isHolding })
        held?.flush()
        #expect(waiting(peers).allSatisfy { $0 == 1 })
    }

    @Test("lies in every outbox and is held in none, one event after the other", arguments: 0..<3)
    func all(odd: Int) throws {
        var limits = LinkLimits()
        limits.overflow = OverflowPolicies([Self.name: .dropOldest])
        let peers = (0..<3).map { peer("worker-\($0)", limits: $0 == odd ? limits : LinkLimits()) }
        let topic = try topic(for: peers)
        for count in UInt64(1)...3 {
            #expect(send(topic, to: peers).isTaken)
            let sent = sendToEach(topic, of: peers)
            #expect(sent.losses.isEmpty && !sent.isUnwanted)
            #expect(waiting(peers) == [2 * count, 2 * count, 2 * count])
        }
        #expect(!peers.contains { $0.link.isHolding || hasKeptRoom($0) })
    }

    @Test("reaches all of them or none if room is kept, and otherwise those that have room", arguments: 0..<3)
    func full(odd: Int) throws {
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        limits.outboxHardBytes = LinkLimits.minimumCharge
        let peers = (0..<3).map { peer("worker-\($0)", limits: $0 == odd ? limits : LinkLimits()) }
        let topic = try topic(for: peers)
        try peers[odd].put(bench.makeContext(), Self.name)
        guard case .failed(let failure) = send(topic, to: peers) else {
            Issue.record("it was taken")
            return
        }
        #expect(failure.code == .outboxFull)
        #expect(waiting(peers).reduce(0, +) == 1 && peers[odd].statistics.waiting == 1)
        #expect(!peers.contains(where: hasKeptRoom))
        #expect(sendToEach(topic, of: peers).losses.map(\.peerName) == ["worker-\(odd)"])
        #expect(waiting(peers) == [1, 1, 1])
        #expect(!peers.contains { $0.link.isHolding })
    }

    @Test("goes into the next outbox of a peer whose link has ended since room was kept there")
    func ended() async throws {
        let peers = ["a", "b"].map { peer($0) }
        let topic = try topic(for: peers)
        let former = peers[0].link
        let link = peers[1].link
        let sent = Collected<Bool>()
        await onThreads(1) { _ in
            link.lock.lock()
            Task { sent.add(send(topic, to: peers).isTaken) }
            // Room is kept in the first outbox, and about to be kept in the second.
            waitUntilWanted(link.lock)
            _ = former.retireForGood()
            link.lock.unlock()
        }
        await sent.wait(for: 1)
        #expect(sent.all == [true])
        #expect(peers[0].link !== former)
        #expect(waiting(peers) == [1, 1])
        #expect(!peers.contains { $0.link.isHolding || hasKeptRoom($0) })
    }
}
