import BridgeProtocol
import DomainEvents
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

    @Test("gives it to the member of its key, if that member wants it, and keeps it from no other receiver")
    func keyed() async throws {
        let members = members(keys: ["*": .field("key")])
        let (sender, other) = (bench.peer("sender"), bench.peer("other", wants: [PalletMoved.eventName]))
        bench.router.add(sender)
        bench.router.add(other)
        for key in UInt8(0)..<20 {
            try await bench.publisher.send(PalletMoved(key: Int(key)))
            bench.publisher.publish(PalletMoved(key: Int(key)))
            let payload = [0xA1, 0x63] + Array("key".utf8) + [key]
            _ = try bench.receive(UInt64(key) + 1, .text(PalletMoved.eventName), payload: payload, from: sender)
        }
        // What is sent, published here and published by another worker has one member for each key.
        let taken = waiting(members)
        #expect(taken[0] > 0 && taken[0] < 60 && taken[0].isMultiple(of: 3) && taken[1] == 0)
        #expect(waiting([other]) == [60])
    }

    @Test("gives it to one of those, if a member that does not want it publishes it", arguments: [false, true])
    func published(isWanted: Bool) throws {
        let members = members()
        let name = isWanted ? ParcelLost.eventName : PalletMoved.eventName
        _ = try bench.receive(1, .text(name), payload: [0xA1, 0x63] + Array("key".utf8) + [1], from: members[1])
        // What a member publishes and wants, its own handlers have had.
        #expect(waiting(members) == (isWanted ? [0, 0] : [1, 0]))
    }

    @Test("gets a gap where it would have got another member's events, and no other gap", arguments: [false, true])
    func gap(isWanted: Bool) throws {
        let members = members()
        let name = isWanted ? ParcelLost.eventName : PalletMoved.eventName
        let range = GapFrame.Range(first: .sender(number: 1), last: 1)
        let gap = GapFrame(sequence: 1, name: .text(name), count: 1, reason: 1, ranges: [range])
        members[1].link.establish(as: EventSource(origin: "pool.2", incarnation: 7))
        try bench.router.gapReceived(gap, from: members[1], over: members[1].link)
        #expect(members.map(\.link.kept) == (isWanted ? [0, 0] : [1, 0]))
    }

    @Test("gets a gap at a member that has asked for every event of the name itself")
    func gapAtPlainMember() throws {
        let members = members()
        for (number, member) in members.enumerated() {
            member.link.establish(as: EventSource(origin: "pool.\(number + 1)", incarnation: 7))
            bench.router.announceInterest(to: member, over: member.link)
        }
        let interest = Interest(wanted: [.init(number: 1, name: PalletMoved.eventName)])
        try bench.router.interestReceived(interest, from: members[1], over: members[1].link, replacesWishes: true)
        let range = GapFrame.Range(first: .sender(number: 1), last: 1)
        let name = WireName.text(PalletMoved.eventName)
        let gap = GapFrame(sequence: 1, name: name, count: 1, reason: 1, ranges: [range])
        try bench.router.gapReceived(gap, from: members[0], over: members[0].link)
        #expect(members.map(\.link.kept) == [0, 1])
    }
}
