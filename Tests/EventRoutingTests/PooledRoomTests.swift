import BridgeProtocol
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import BridgeTransport
@testable import EventRouting

private struct ParcelSaved: DomainEvent {}

@Suite("Room in a pool for an event without a type", .timeLimit(.minutes(1)))
struct PooledRoomTests {
    private static let name = "ParcelSaved"

    private func payload(_ key: UInt8) -> [UInt8] { [0xA1, 0x63] + Array("key".utf8) + [key] }

    /// The two members of a pool; each is full with one event.
    private func members(in bench: RoutingBench, keys: [String: EventKey] = [:]) -> [Peer] {
        let pool = PeerPool(name: "pool", count: 2, keys: keys)
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        let members = (1...2).map { bench.peer("pool.\($0)", wants: [Self.name], pool: pool, limits: limits) }
        bench.router.exchange(adding: members)
        bench.router.start()
        return members
    }

    /// The two members of a pool: the first is full, the second is stopped.
    private func membersOneOfThemStopped(in bench: RoutingBench) throws -> [Peer] {
        let members = members(in: bench)
        try members[0].put(bench.makeContext(), Self.name)
        members[1].close(because: "it was stopped")
        return members
    }

    @Test("is awaited at the member that gets the event, not at another one that has none")
    func chosenMember() async throws {
        let bench = try RoutingBench()
        let members = members(in: bench, keys: [Self.name: .field("key")])
        let (full, free) = (members[0], members[1])
        try full.put(bench.makeContext(), Self.name)
        let topic = try #require(bench.router.named(Self.name))
        bench.router.ensureTargets(of: topic)
        let key = try #require(
            (0..<24).first { key in
                payload(key).withUnsafeBytes { topic.fanout.targets(of: $0, except: nil) }.first === free
            }
        )
        let delivery = Task { [payload = payload(key)] in
            let context = bench.makeContext()
            _ = try await bench.router.deliver(
                name: Self.name,
                payload: payload,
                context: context,
                within: .seconds(3_600)
            )
        }
        try await wait { free.link.outboxDepth.events > 0 }
        #expect(full.link.outboxDepth.events == 1)
        delivery.cancel()
        await #expect(throws: CancellationError.self) { try await delivery.value }
    }

    @Test(
        "is awaited at all members if any of them may get the event, as one may never have room",
        arguments: [true, false]
    )
    func anyMember(isTyped: Bool) async throws {
        let bench = try RoutingBench()
        let members = members(in: bench)
        // Both are full, and the first has the fewest events.
        try members[0].put(bench.makeContext(), Self.name)
        for _ in 0..<2 { try members[1].put(bench.makeContext(), Self.name) }
        let sending = Task { [payload = payload(1)] in
            if isTyped {
                _ = try await bench.publisher.send(ParcelSaved())
                return
            }
            let context = bench.makeContext()
            _ = try await bench.router.deliver(
                name: Self.name,
                payload: payload,
                context: context,
                within: .seconds(3_600)
            )
        }
        try await wait { members.contains { $0.link.isAwaited } }
        members[1].makeRoom()
        try await wait { members[1].link.outboxDepth.events > 0 }
        #expect(members[0].link.outboxDepth.events == 1 && !members.contains { $0.link.isAwaited })
        sending.cancel()
        if isTyped {
            try await sending.value
        } else {
            await #expect(throws: CancellationError.self) { try await sending.value }
        }
    }

    @Test("is awaited at a member whose link has ended just now, as the events go to the link that takes its place")
    func endedMember() async throws {
        let bench = try RoutingBench()
        let members = members(in: bench)
        // Both are full, and the second has the fewest events.
        for _ in 0..<2 { try members[0].put(bench.makeContext(), Self.name) }
        try members[1].put(bench.makeContext(), Self.name)
        // The thread that ends the link is about to put another one in its place.
        members[0].link.end()
        let sending = Task { try await bench.publisher.send(ParcelSaved()) }
        try await wait { members.allSatisfy { $0.link.isAwaited } }
        members[0].makeRoom()
        _ = try await sending.value
        #expect(members.map { $0.link.outboxDepth.events } == [1, 1])
    }

    @Test(
        "is not awaited at a member that is given up meanwhile, only at the others; if all are, none has the room",
        arguments: [false, true]
    )
    func closedMembers(areAll: Bool) async throws {
        let bench = try RoutingBench()
        let members = members(in: bench)
        for member in members { try member.put(bench.makeContext(), Self.name) }
        let sending = Task { try await bench.publisher.send(ParcelSaved()) }
        for member in members {
            try await wait { member.link.isAwaited }
        }
        members[0].close(because: "it was given up", isGivenUp: true)
        if !areAll {
            members[1].makeRoom()
            _ = try await sending.value
            #expect(members[1].link.outboxDepth.events == 1)
            return
        }
        members[1].close(because: "it was given up", isGivenUp: true)
        let error = await #expect(throws: DeliveryError.self) { try await sending.value }
        #expect(error?.code == .workerUnavailable)
    }

    @Test(
        "is found at a member that takes events again, whether it was closed before the wait or during it",
        arguments: [false, true]
    )
    func reopened(closesMeanwhile: Bool) async throws {
        let bench = try RoutingBench()
        let members = members(in: bench)
        try members[0].put(bench.makeContext(), Self.name)
        if closesMeanwhile {
            try members[1].put(bench.makeContext(), Self.name)
        } else {
            members[1].close(because: "it was stopped")
        }
        let sending = Task { try await bench.publisher.send(ParcelSaved()) }
        defer { sending.cancel() }
        try await wait { members[0].link.isAwaited }
        if closesMeanwhile {
            try await wait { members[1].link.isAwaited }
            members[1].close(because: "it was stopped")
            // The publisher is about to see that the member was closed.
            for _ in 0..<1_000 { await Task.yield() }
            members[1].makeRoom()
        }
        members[1].reopen()
        try await wait { members[1].link.outboxDepth.events > 0 }
        #expect(members[0].link.outboxDepth.events == 1)
        _ = try await sending.value
        #expect(!members.contains { $0.link.isAwaited || $0.isReopeningAwaited })
    }

    @Test("is not awaited any more, at members that take events or at others, once the publisher is cancelled")
    func cancelled() async throws {
        let bench = try RoutingBench()
        let members = try membersOneOfThemStopped(in: bench)
        let sending = Task { try await bench.publisher.send(ParcelSaved()) }
        try await wait { members[0].link.isAwaited && members[1].isReopeningAwaited }
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(!members.contains { $0.link.isAwaited || $0.isReopeningAwaited })
    }

    @Test("is awaited no more once the last member that took events is closed, though another one was closed before")
    func lastOpenMember() async throws {
        let bench = try RoutingBench()
        let members = try membersOneOfThemStopped(in: bench)
        let sending = Task { try await bench.publisher.send(ParcelSaved()) }
        defer { sending.cancel() }
        try await wait { members[0].link.isAwaited }
        members[0].close(because: "it was given up", isGivenUp: true)
        let error = await #expect(throws: DeliveryError.self) { try await sending.value }
        #expect(error?.code == .workerUnavailable)
    }
}

extension Link {
    /// Does as if the stream had ended.
    fileprivate func end() { lock.withLock { ending.ended(.endOfStream) } }
}

extension Peer {
    /// Whether a publisher waits until the peer takes events again.
    fileprivate var isReopeningAwaited: Bool { lock.withLock { closure?.waiting.isEmpty == false } }
}
