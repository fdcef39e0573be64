import BridgeProtocol
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import BridgeTransport
@testable import EventRouting

private struct ParcelWeighed: DomainEvent {}

@Suite("Who waits for room", .timeLimit(.minutes(1)))
struct WaitingForRoomTests {
    @Test("is told that nothing is taken any more, also if that happens in the moment in which it begins to wait")
    func closedInBetween() async throws {
        let bench = try RoutingBench()
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        let peer = bench.peer("worker", limits: limits)
        try peer.put(bench.makeContext(), "ParcelSaved")
        let link = peer.link
        let waiting = Collected<Task<Void, any Error>>()
        await onThreads(1) { _ in
            link.lock.lock()
            waiting.add(Task { try await peer.waitForRoom(for: "ParcelSaved") })
            // The thread is about to see that there is no room.
            waitUntilWanted(link.lock)
            peer.lock.lock()
            link.lock.unlock()
            // The thread has seen that, and is not among the waiting threads yet.
            waitUntilWanted(peer.lock)
            // As closing does: it sets the reason first, then wakes the waiting threads.
            peer.closure = Peer.Closure(reason: "it was given up", isGivenUp: true)
            link.wakeWaiters()
            peer.lock.unlock()
        }
        let outcome = try #require(await waiting.wait(for: 1).first)
        let error = await #expect(throws: DeliveryError.self) { try await outcome.value }
        #expect(error?.code == .workerUnavailable)
    }

    @Test("goes on with the peer that takes its place, though nothing is taken out of the leaving peer's outbox")
    func leaving() async throws {
        let bench = try RoutingBench()
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        let goes = bench.peer("goes", wants: [ParcelWeighed.eventName], limits: limits)
        let new = bench.peer("new", wants: [ParcelWeighed.eventName])
        bench.router.add(goes)
        bench.router.start()
        try goes.put(bench.makeContext(), ParcelWeighed.eventName)
        let sending = Task { try await bench.publisher.send(ParcelWeighed()) }
        defer { sending.cancel() }
        try await wait { goes.link.isAwaited }
        let quiet = Collected<Void>()
        goes.link.whenQuiet { quiet.add(()) }
        bench.router.exchange(adding: [new], leaving: [goes])
        try await wait { new.link.outboxDepth.events > 0 }
        _ = try await sending.value
        #expect(goes.link.outboxDepth.events == 1 && goes.hasRoom(for: ParcelWeighed.eventName))
        // Only publishers go elsewhere: the leaving peer has not settled what it has.
        #expect(quiet.all.isEmpty)
    }
}
