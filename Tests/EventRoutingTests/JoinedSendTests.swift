import DomainEvents
import Locks
import TestSupport
import Testing

@testable import BridgeProtocol
@testable import BridgeTransport
@testable import EventRouting

private struct ParcelJoined: DomainEvent {
    let number: Int
}

@Suite("An event that goes to several peers at once", .timeLimit(.minutes(1)))
struct JoinedSendTests {
    private static let name = ParcelJoined.eventName
    private let bench: RoutingBench

    init() throws {
        bench = try RoutingBench()
    }

    /// Peers that want the events, and that are down.
    private func peers(_ count: Int, limits: (Int) -> LinkLimits = { _ in LinkLimits() }) -> [Peer] {
        (0..<count).map { index in
            let peer = bench.peer("worker-\(index)", wants: [Self.name], limits: limits(index))
            bench.router.add(peer)
            return peer
        }
    }

    /// What a publishing thread does with an event.
    private func send(_ number: Int = 0, ifFull: FullOutboxAction = .drop) throws -> Forwarded {
        let topic = try #require(bench.router.named(Self.name))
        bench.router.ensureTargets(of: topic)
        let forwarder = TopicForwarder(topic, to: topic.fanout, of: bench.router)
        var held: HeldEvents?
        return bench.makeContext().withBorrowed { context in
            forwarder.forward(
                ParcelJoined(number: number),
                context: context,
                ifFull: ifFull,
                receipts: nil,
                held: &held
            )
        }
    }

    private func waiting(_ peers: [Peer]) -> [UInt64] { peers.map(\.statistics.waiting) }

    /// The limits of an outbox that is full after one event.
    private func small(hard: Int = LinkLimits.minimumCharge) -> LinkLimits {
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        limits.outboxHardBytes = hard
        return limits
    }

    @Test("lies in every outbox and is held in none", arguments: [2, JoinedLink.most, JoinedLink.most + 1])
    func everywhere(count: Int) throws {
        let peers = peers(count)
        let topic = try #require(bench.router.named(Self.name))
        bench.router.ensureTargets(of: topic)
        #expect(topic.fanout.joined.count == (count > JoinedLink.most ? 0 : count))
        for sent in UInt64(1)...3 {
            #expect(try send().isTaken)
            #expect(waiting(peers).allSatisfy { $0 == sent })
        }
        #expect(!peers.contains { $0.link.isHolding })
    }

    @Test("reaches none of them if one has no room and the publisher can wait or be told", arguments: 0..<3)
    func full(odd: Int) throws {
        let peers = peers(3) { $0 == odd ? small() : LinkLimits() }
        try peers[odd].put(bench.makeContext(), Self.name)
        let before = waiting(peers)
        guard case .awaitsRoom = try send(ifFull: .wait) else {
            Issue.record("it did not wait")
            return
        }
        guard case .failed(let failure) = try send(ifFull: .fail) else {
            Issue.record("it was taken")
            return
        }
        #expect(failure.code == .outboxFull)
        #expect(waiting(peers) == before)
        // A publisher that cannot be told leaves out the full one.
        _ = try send()
        #expect(waiting(peers) == [1, 1, 1])
    }

    @Test("does not wait for a publisher's turn beyond the limit where waiting begins, but for `send` it does")
    func crowded() throws {
        let peers = peers(2) { _ in small(hard: 1 << 20) }
        #expect(try send(ifFull: .wait).isTaken)
        guard case .awaitsRoom = try send(ifFull: .wait) else {
            Issue.record("it did not wait")
            return
        }
        #expect(try send().isTaken)
        #expect(waiting(peers) == [2, 2])
    }

    @Test("does not wait for others that wait if its publisher's turn has come, but it does for room", arguments: 1...2)
    func turn(count: Int) throws {
        var limits = LinkLimits()
        limits.outboxBytes = 2 * LinkLimits.minimumCharge
        // Room for a third event and for the records.
        limits.outboxHardBytes = 3 * LinkLimits.minimumCharge - 64
        let peers = peers(count) { _ in limits }
        for peer in peers { peer.link.lock.withLock { peer.link.waiters.waitForRoom(1) {} } }
        guard case .awaitsRoom = try send(ifFull: .wait) else {
            Issue.record("it did not wait for its turn")
            return
        }
        // Several outboxes take events up to the hard limit: they may never all be below their limits at once.
        let most: UInt64 = count == 1 ? 2 : 3
        for sent in 1...most {
            #expect(try send(ifFull: .turn).isTaken)
            #expect(waiting(peers).allSatisfy { $0 == sent })
        }
        guard case .awaitsRoom = try send(ifFull: .turn) else {
            Issue.record("it did not wait for room")
            return
        }
        #expect(waiting(peers).allSatisfy { $0 == most })
        // Where nothing is taken any more, the caller is told, though there is no room.
        for peer in peers { peer.close(because: "it was given up", isGivenUp: true) }
        guard case .failed(let failure) = try send(ifFull: .turn) else {
            Issue.record("it was taken, or waited")
            return
        }
        #expect(failure.code == .workerUnavailable)
    }

    @Test("takes the general way if one of them has a policy, or has left")
    func general() throws {
        var limits = LinkLimits()
        limits.overflow = OverflowPolicies([Self.name: .dropOldest])
        let peers = peers(3) { $0 == 1 ? limits : LinkLimits() }
        #expect(try send().isTaken)
        #expect(waiting(peers) == [1, 1, 1])
        bench.router.exchange(adding: [], leaving: [peers[1]])
        #expect(try send().isTaken)
        #expect(waiting([peers[0], peers[2]]) == [2, 2])
    }

    @Test("goes into the next outbox of a peer whose link has ended")
    func ended() throws {
        let peers = peers(2)
        let former = peers[0].link
        _ = former.retireForGood()
        #expect(try send().isTaken)
        #expect(peers[0].link !== former)
        #expect(waiting(peers) == [1, 1])
    }

    @Test("comes in the same order to all of them, whatever several threads publish")
    func order() async throws {
        let peers = peers(4)
        let (threads, each) = (4, 500)
        await onThreads(threads) { thread in
            for number in 0..<each { #expect((try? send(thread * each + number).isTaken) == true) }
        }
        let orders = peers.map { $0.link.retireForGood().map(\.payload) }
        #expect(orders[0].count == threads * each)
        #expect(orders.allSatisfy { $0 == orders[0] })
    }

    @Test("takes the links' locks in the order in which they were made, however they come", arguments: [false, true])
    func lockOrder(isReversed: Bool) async throws {
        let links = peers(3).map(\.link)
        let (first, others) = (links[0], links[1...])
        #expect(links.map(\.lock.order).sorted() == links.map(\.lock.order))
        let context = bench.makeContext()
        let taken = Collected<Bool>()
        await onThreads(2) { thread in
            if thread == 0 {
                first.lock.lock()
                taken.add(false)
                // The other thread wants the first lock, and has taken none of the others.
                waitUntilWanted(first.lock)
                for other in others {
                    #expect(other.lock.tryLock())
                    other.lock.unlock()
                }
                first.lock.unlock()
                return
            }
            waitUntil { !taken.all.isEmpty }
            let isTaken = withUnsafeTemporaryAllocation(of: JoinedLink.self, capacity: links.count) { joined in
                for (index, link) in (isReversed ? links.reversed() : links).enumerated() {
                    joined.initializeElement(at: index, to: JoinedLink(link))
                }
                defer { for link in joined { link.release() } }
                return [UInt8]([0xA0]).withUnsafeBytes { payload in
                    context.withBorrowed { context in
                        JoinedLink.send(
                            context,
                            name: Self.name,
                            number: 0,
                            payload: payload,
                            ifFull: .wait,
                            over: joined
                        )
                    }
                }
            }
            taken.add(isTaken)
        }
        #expect(taken.all == [false, true])
        #expect(links.map(\.outboxDepth.events) == [1, 1, 1])
    }
}
