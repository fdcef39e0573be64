import BridgeProtocol
import BridgeTransport
import DomainEvents
import Testing

@testable import EventRouting

@Suite("The member of a pool that gets an event without a key", .timeLimit(.minutes(1)))
struct LeastBusyTests {
    private static let name = "ParcelSaved"
    private let bench: RoutingBench
    private let pool = PeerPool(name: "pool", count: 3, keys: [:])

    init() throws {
        bench = try RoutingBench()
    }

    /// - Parameter isFull: whether publishers have to wait for the member, however little waits for it.
    private func member(_ number: Int, events: Int, isFull: Bool = false) throws -> Peer {
        var limits = LinkLimits()
        if isFull { limits.outboxBytes = 0 }
        let member = bench.peer("pool.\(number)", wants: [Self.name], pool: pool, limits: limits)
        for _ in 0..<events { try member.put(bench.makeContext(), Self.name) }
        return member
    }

    /// The members that are chosen one after the other; each search begins with another member.
    private func chosen(among members: [Peer]) -> Set<String> {
        Set((0..<3 * members.count).map { _ in pool.leastBusy(of: members).peerName })
    }

    @Test("has room, even if one without room has nothing to do")
    func room() throws {
        let members = [
            try member(1, events: 0, isFull: true), try member(2, events: 2), try member(3, events: 1),
        ]
        #expect(chosen(among: members) == ["pool.3"])
    }

    @Test("has nothing to do; those that have nothing to do take turns")
    func turns() throws {
        let members = [try member(1, events: 0), try member(2, events: 1), try member(3, events: 0)]
        #expect(chosen(among: members) == ["pool.1", "pool.3"])
    }

    @Test("has the fewest events to handle: gaps in the place of dropped events are none")
    func gaps() throws {
        let members = [try member(1, events: 0), try member(2, events: 1), try member(3, events: 1)]
        for number in UInt64(1)...3 {
            let id = EventID(origin: "host", incarnation: 1, number: number)
            members[0].note(Gap(id, name: "Name\(number)", reason: .full))
        }
        #expect(members[0].link.outboxDepth.events == 0)
        #expect(chosen(among: members) == ["pool.1"])
    }

    @Test("has no room if none has any, and the least to do")
    func noneHasRoom() throws {
        let members = [try member(1, events: 1, isFull: true), try member(2, events: 0, isFull: true)]
        #expect(chosen(among: members) == ["pool.2"])
    }
}
