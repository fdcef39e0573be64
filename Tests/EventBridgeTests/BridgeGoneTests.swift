import BridgeClient
import DomainEvents
import EventBridgeTesting
import EventRouting
import TestSupport
import Testing

@testable import EventBridge

/// An event whose encoding lasts as long as its test likes.
private struct Portrait: DomainEvent {
    /// What controls the encoding of one event.
    final class Sitting: Sendable {
        let hasBegun = Collected<Void>()
        let mayEnd = Barrier()
    }

    let sitting: Sitting?

    init(_ sitting: Sitting?) { self.sitting = sitting }

    init(from decoder: any Decoder) throws { sitting = nil }

    func encode(to encoder: any Encoder) throws {
        sitting?.hasBegun.add(())
        sitting?.mayEnd.wait()
        var container = encoder.unkeyedContainer()
        try container.encode(1)
    }
}

/// An object whose life the tests check.
private final class Witness: Sendable {}

@Suite("A bridge that goes while another thread is publishing", .serialized)
struct BridgeGoneTests {
    private let sitting = Portrait.Sitting()

    /// Publishes on a thread of its own, and lets the bridge go while the event is being encoded.
    private func publish(
        on publisher: EventPublisher,
        while letGo: () async -> Void,
        _ isThere: () -> Bool
    ) async {
        let sitting = sitting
        async let published: Void = onThreads(1) { _ in publisher.publish(Portrait(sitting)) }
        await sitting.hasBegun.wait(for: 1)
        await letGo()
        #expect(isThere(), "the thread that is publishing would find what has been released")
        sitting.mayEnd.open()
        await published
        // The threads of links and of the poller release it in their own time.
        while isThere() { await Task.yield() }
    }

    @Test(
        "the host's router stays until the thread is done, and no longer",
        .timeLimit(.minutes(5)),
        arguments: [true, false]
    )
    func host(isShutDown: Bool) async throws {
        let publisher = EventPublisher()
        var bridge: BridgeHost? = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker(subscribes: [Portrait.self]) { [$0.subscribe(to: Portrait.self) { _ in }] }
            ]
        )
        weak let router = bridge?.core.router
        await publish(on: publisher) {
            if isShutDown { await bridge?.shutdown() }
            bridge = nil
        } _: {
            router != nil
        }
    }

    @Test(
        "the client's router stays until the thread is done, and no longer",
        .timeLimit(.minutes(5)),
        arguments: [true, false]
    )
    func client(isClosed: Bool) async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(
            workers: [
                InMemoryWorker(subscribes: [Portrait.self]) { [$0.subscribe(to: Portrait.self) { _ in }] }
            ]
        )
        let publisher = EventPublisher()
        var witness: Witness? = Witness()
        weak let seen = witness
        var client: BridgeClient? = try await BridgeClient.connect(
            to: home.path,
            publisher: publisher,
            name: "test",
            wantsEverything: false,
            // Only the router keeps the witness.
            tap: { [witness] _ in withExtendedLifetime(witness) {} },
            gapTap: nil
        )
        witness = nil
        await publish(on: publisher) {
            if isClosed { await client?.close() }
            client = nil
        } _: {
            seen != nil
        }
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }
}
