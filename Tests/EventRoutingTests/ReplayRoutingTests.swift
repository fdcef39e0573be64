import BridgeProtocol
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import BridgeTransport
@testable import EventRouting

@Suite("An event of a journal on its way to one worker", .timeLimit(.minutes(1)))
struct ReplayRoutingTests {
    private static let name = "ParcelSaved"
    private let bench: RoutingBench
    private let outcomes = Collected<ReplayedEventOutcome>()

    init() throws {
        bench = try RoutingBench()
    }

    private func replayed(_ number: UInt64 = 1) -> EventContext {
        let source = EventSource(restored: EventSource(origin: "host", incarnation: 0x5F))
        return EventContext(id: EventID(source: source, number: number), nanosecondsSinceEpoch: 1).replayed
    }

    private func replay(_ context: EventContext, bytes: Int = 1, to peer: Peer) -> Task<Void, any Error> {
        Task { [bench, outcomes] in
            try await bench.router.replay(
                context,
                name: Self.name,
                payload: Array(repeating: 0xA0, count: bytes),
                to: peer
            ) {
                outcomes.add($0)
                return true
            }
        }
    }

    private func error(of replay: Task<Void, any Error>) async -> DeliveryError? {
        await #expect(throws: DeliveryError.self) { try await replay.value }
    }

    /// A worker whose outbox has no room.
    private func fullPeer() throws -> Peer {
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        let peer = bench.peer("worker", wants: [Self.name], limits: limits)
        try peer.put(bench.makeContext(), Self.name)
        return peer
    }

    private func waitUntilItWaits(for peer: Peer) {
        waitUntil { peer.link.lock.withLock { peer.link.waiters.areSendersWaiting } }
    }

    @Test("hears nothing of the same event, which is there besides, while it waits for room")
    func sameEventBesides() async throws {
        let peer = try fullPeer()
        let context = replayed()
        let replay = replay(context, to: peer)
        waitUntilItWaits(for: peer)
        bench.router.tell(context.id, .deadLettered, at: peer, because: "the worker died of it")
        peer.close(because: "it was stopped")
        #expect(await error(of: replay)?.code == .workerUnavailable)
        #expect(outcomes.all.isEmpty)
    }

    @Test("hears nothing of the same event, which is settled in the moment in which the outbox turns out to be full")
    func sameEventInBetween() async throws {
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        let peer = bench.peer("worker", wants: [Self.name], limits: limits)
        let link = peer.link
        let (context, other) = (replayed(1), replayed(2))
        let replays = Collected<Task<Void, any Error>>()
        await onThreads(1) { _ in
            link.lock.lock()
            replays.add(replay(context, to: peer))
            // It is about to see that there is room.
            waitUntilWanted(link.lock)
            peer.lock.lock()
            link.lock.unlock()
            // It is about to see that the worker takes events.
            waitUntilWanted(peer.lock)
            link.lock.lock()
            peer.lock.unlock()
            // It is about to put the event in.
            waitUntilWanted(link.lock)
            // Another event takes the room, and the live delivery of the same event ends.
            let payload: [UInt8] = [0xA0]
            _ = payload.withUnsafeBytes {
                link.sending.takeReplayed(other, name: Self.name, number: 0, payload: $0)
            }
            bench.router.tell(context.id, .deadLettered, at: peer, because: "the worker died of it")
            link.lock.unlock()
        }
        waitUntilItWaits(for: peer)
        #expect(outcomes.all.isEmpty)
        peer.close(because: "it was stopped")
        let begun = try #require(await replays.wait(for: 1).first)
        #expect(await error(of: begun)?.code == .workerUnavailable)
        #expect(outcomes.all.isEmpty)
    }

    @Test("whose outcome comes before its outbox is known to have it is told once")
    func earlyOutcome() throws {
        let replays = PendingReplays()
        let id = replayed().id
        func offered() throws -> UInt64 {
            let number = replays.offer(id, at: "worker") { [outcomes] in
                outcomes.add($0)
                return true
            }
            return try #require(number)
        }
        let first = try offered()
        replays.settled(id, at: "worker", .handled)
        #expect(!replays.decided(first, of: id, at: "worker", isTaken: false))
        #expect(outcomes.all.isEmpty)

        let second = try offered()
        replays.settled(id, at: "worker", .handled)
        #expect(replays.decided(second, of: id, at: "worker", isTaken: true))
        replays.settled(id, at: "worker", .unavailable("it was stopped"))
        #expect(outcomes.all == [.handled])

        // A replay that was begun earlier may be refused while this one finds no room.
        let third = try offered()
        #expect(replays.refused(id, at: "worker", because: "not today"))
        #expect(replays.decided(third, of: id, at: "worker", isTaken: false))
        #expect(outcomes.all == [.handled, .refused("not today")])
    }

    @Test("is told as unavailable if the worker is stopped in the moment in which its outbox takes the event")
    func stoppedInBetween() async throws {
        let peer = bench.peer("worker", wants: [Self.name])
        let link = peer.link
        let replays = Collected<Task<Void, any Error>>()
        await onThreads(1) { _ in
            link.lock.lock()
            replays.add(replay(replayed(), to: peer))
            // It is about to see that there is room.
            waitUntilWanted(link.lock)
            peer.lock.lock()
            link.lock.unlock()
            // It is about to see that the worker takes events.
            waitUntilWanted(peer.lock)
            link.lock.lock()
            peer.lock.unlock()
            // It has seen that, and is about to put the event in. As closing does, after which the outbox is looked
            // through: it has no event yet.
            waitUntilWanted(link.lock)
            peer.lock.withLock { peer.closure = Peer.Closure(reason: "it was stopped", isGivenUp: false) }
            link.lock.unlock()
        }
        try await replays.wait(for: 1)[0].value
        #expect(outcomes.all == [.unavailable("worker \"worker\" is unavailable: it was stopped")])
    }

    @Test("is refused with a word if it does not fit, and a worker that is paused makes no room")
    func paused() async throws {
        var limits = LinkLimits()
        limits.outboxBytes = 64 << 10
        limits.outboxHardBytes = 64 << 10
        let peer = bench.peer("worker", wants: [Self.name], limits: limits)
        let first = replay(replayed(1), bytes: 40 << 10, to: peer)
        try await first.value
        peer.setPaused(true)
        peer.pauseChanged()
        let error = await error(of: replay(replayed(2), bytes: 40 << 10, to: peer))
        #expect(error?.code == .outboxFull && error?.description.contains("is at its limit of 65536 bytes") == true)
        #expect(outcomes.all.isEmpty)
    }

    @Test("waits for room, and is not taken once the bridge has ended")
    func ended() async throws {
        let peer = try fullPeer()
        let replay = replay(replayed(), to: peer)
        waitUntilItWaits(for: peer)
        bench.router.stop()
        _ = peer.link.retireForGood()
        peer.link.wakeWaiters()
        #expect(await error(of: replay)?.code == .workerUnavailable)
        #expect(outcomes.all.isEmpty)
    }
}
