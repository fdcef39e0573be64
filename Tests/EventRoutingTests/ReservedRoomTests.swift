import BridgeProtocol
import DomainEvents
import TestSupport
import Testing

@testable import BridgeTransport
@testable import EventRouting

@Suite("Room that a caller has reserved at a link", .timeLimit(.minutes(1)))
struct ReservedRoomTests {
    private static let name = "BasketPacked"

    @Test("is no room for others, who wait until it is given back; none of them is told that the outbox is full")
    func isNoRoom() async throws {
        let bench = try RoutingBench()
        var limits = LinkLimits()
        (limits.outboxBytes, limits.outboxHardBytes) = (4 << 10, 12 << 10)
        let link = bench.peer("worker", wants: [Self.name], limits: limits).link
        let payload = [UInt8](repeating: 0, count: 10 << 10)
        func reserve(_ ifFull: FullOutboxAction, isOneOfSeveral: Bool) -> Link.Reserving {
            payload.withUnsafeBytes {
                link.reserve(for: $0, name: Self.name, ifFull: ifFull, isOneOfSeveral: isOneOfSeveral)
            }
        }
        guard case .reserved(let room) = reserve(.turn, isOneOfSeveral: true) else {
            Issue.record("no room at an empty outbox")
            return
        }
        #expect(!link.hasRoom(for: Self.name))
        for isOneOfSeveral in [false, true] {
            let second = reserve(.turn, isOneOfSeveral: isOneOfSeveral)
            guard case .refused(.crowded) = second else {
                Issue.record("\(second)")
                continue
            }
        }
        let isWaiting = Collected<Void>()
        let waiting = Task { try await link.waitForRoom { isWaiting.add(()) } }
        await isWaiting.wait(for: 1)
        room.cancel()
        try await waiting.value
        #expect(link.hasRoom(for: Self.name))
    }
}
