import BridgeProtocol
import DomainEvents
import TestSupport
import Testing

@testable import BridgeTransport
@testable import EventRouting

private struct PalletMoved: DomainEvent { let key: Int }
private struct ParcelLost: DomainEvent { let key: Int }

/// A reload changes the members one after the other, and may fail at one of them.
@Suite("A pool of whose members only some want an event", .timeLimit(.minutes(1)))
struct DifferingMembersTests {
    private let bench: RoutingBench

    init() throws {
        bench = try RoutingBench()
    }

    /// Two members, of which the first was replaced: it wants ``PalletMoved`` in place of ``ParcelLost``.
    private func members(keys: [String: EventKey] = [:]) -> [Peer] {
        let pool = PeerPool(name: "pool", count: 2, keys: keys)
        let members = (1...2).map { bench.peer("pool.\($0)", wants: [ParcelLost.eventName], pool: pool) }
        bench.router.exchange(adding: members)
        bench.router.start()
        bench.router.adopt([PalletMoved.eventName], for: members[0])
        return members
    }

    private func waiting(_ members: [Peer]) -> [UInt64] { members.map(\.statistics.waiting) }

    @Test("gives it to one of those, if it has no key")
    func anyMember() async throws {
        let members = members()
        for _ in 1...3 { bench.publisher.publish(PalletMoved(key: 1)) }
        #expect(waiting(members) == [3, 0])
        for _ in 1...2 { try await bench.publisher.send(ParcelLost(key: 1)) }
        #expect(waiting(members) == [3, 2])
    }

    @Test("gives it to the member of its key, or announces that it is lost because that member does not want it")
    func keyed() async throws {
        let dropped = Collected<EventsDropped>()
        let subscription = bench.publisher.subscribe(to: EventsDropped.self) { dropped.add($0) }
        defer { subscription.cancel() }
        let members = members(keys: ["*": .field("key")])
        let sender = bench.peer("sender")
        bench.router.add(sender)
        var lost = 0
        for key in UInt8(0)..<20 {
            do {
                try await bench.publisher.send(PalletMoved(key: Int(key)))
            } catch let error as DeliveryError {
                lost += 1
                #expect(error.code == .workerUnavailable && error.worker == "pool.2")
                #expect(error.description.contains("its specification does not subscribe to PalletMoved"))
            }
            bench.publisher.publish(PalletMoved(key: Int(key)))
            let payload = [0xA1, 0x63] + Array("key".utf8) + [key]
            try bench.receive(UInt64(key) + 1, .text(PalletMoved.eventName), payload: payload, from: sender)
        }
        #expect(lost > 0 && lost < 20)
        // What is sent, published here and published by another worker has one member for each key.
        #expect(waiting(members) == [UInt64(3 * (20 - lost)), 0])
        let all = await dropped.wait { [lost] in $0.reduce(0) { $0 + $1.count } >= 2 * lost }
        #expect(all.allSatisfy { $0.event == PalletMoved.eventName && $0.link == "pool.2" })
        #expect(all.reduce(0) { $0 + $1.count } == 2 * lost)
    }
}
