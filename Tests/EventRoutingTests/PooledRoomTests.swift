import BridgeProtocol
import BridgeTransport
import DomainEvents
import Testing

@testable import EventRouting

@Suite("Room in a pool for an event without a type", .timeLimit(.minutes(1)))
struct PooledRoomTests {
    private static let name = "ParcelSaved"

    private func payload(_ key: UInt8) -> [UInt8] { [0xA1, 0x63] + Array("key".utf8) + [key] }

    @Test("is awaited at the member that gets the event, not at another one that has none")
    func chosenMember() async throws {
        let bench = try RoutingBench()
        let pool = PeerPool(name: "pool", count: 2, keys: [Self.name: .field("key")])
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        let (full, free) = (
            bench.peer("pool.1", wants: [Self.name], pool: pool, limits: limits),
            bench.peer("pool.2", wants: [Self.name], pool: pool, limits: limits)
        )
        bench.router.exchange(adding: [full, free])
        bench.router.start()
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
        while free.link.outboxDepth.events == 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(full.link.outboxDepth.events == 1)
        delivery.cancel()
        await #expect(throws: CancellationError.self) { try await delivery.value }
    }
}
