import BridgeProtocol
import Locks
import Synchronization
import TestSupport
import Testing

@testable import BridgeTransport
@testable import DomainEvents
@testable import EventRouting

@Suite("The interest of peers", .timeLimit(.minutes(5)))
struct InterestTests {
    private static let names = ["ParcelSaved", "ParcelSent"]
    private static let wishes: [[String]] = [
        [], [names[0]], [names[1]], names, [EventName.everything.text], [EventName.everything.text, names[0]],
    ]

    private let bench: RoutingBench
    private let peers: [Peer]

    init() throws {
        bench = try RoutingBench()
        // One of them wants a name by its specification.
        peers = [bench.peer("one"), bench.peer("two", wants: [Self.names[1]]), bench.peer("three")]
        bench.router.exchange(adding: peers)
        for peer in peers {
            peer.link.establish(as: EventSource(origin: peer.peerName, incarnation: 7))
            bench.router.announceInterest(to: peer, over: peer.link)
        }
    }

    private func ask(_ names: [String], by peer: Peer) throws {
        let wanted = names.enumerated().map { index, name in
            Interest.Name(number: name == EventName.everything.text ? 0 : UInt64(index + 1), name: name)
        }
        let interest = Interest(wanted: wanted)
        try bench.router.interestReceived(interest, from: peer, over: peer.link, replacesWishes: true)
    }

    @Test("decides who gets an event and what is asked of whom, whichever of them asks for what next")
    func everyChange() throws {
        for name in Self.names { bench.router.ensureTargets(of: try #require(bench.router.named(name))) }
        for first in peers {
            for (one, other) in Self.wishes.flatMap({ one in Self.wishes.map { (one, $0) } }) {
                for second in peers {
                    try ask(one, by: first)
                    try ask(other, by: second)
                    try check()
                    if one == other {
                        bench.router.forgetInterest(of: second)
                        try check()
                    }
                }
            }
        }
    }

    @Test("costs as much as there are names in it, however many names are known: the others keep their receivers")
    func otherNames() throws {
        let other = try #require(bench.router.named("ParcelLost"))
        bench.router.ensureTargets(of: other)
        let receivers = other.fanout
        let link = peers[0].link
        func tell(_ interest: Interest) throws {
            try link.lock.withLock { try link.sending.peerWants(interest) }
            try bench.router.interestReceived(interest, from: peers[0], over: link)
            try check()
        }
        for name in Self.names { bench.router.ensureTargets(of: try #require(bench.router.named(name))) }
        for _ in 0..<2 {
            try tell(Interest(wanted: Self.names.enumerated().map { .init(number: UInt64($0 + 1), name: $1) }))
            try tell(Interest(unwanted: [1]))
            try tell(Interest(unwanted: [2]))
            #expect(other.isCurrent(receivers))
        }
        try tell(Interest(wanted: [.init(number: 0, name: EventName.everything.text)]))
        #expect(other.targets.map(\.peerName) == ["one"])
        try tell(Interest(unwanted: [0]))
        #expect(other.targets.isEmpty)
    }

    @Test("lets go of a removed handler when no lock is held: the end of what the handler holds may take the lock")
    func removedHandler() throws {
        let isLockFree = Collected<Bool>()
        let subscription = {
            let held = Held { [router = bench.router] in
                let isFree = router.lock.tryLock()
                if isFree { router.lock.unlock() }
                isLockFree.add(isFree)
            }
            return bench.publisher.subscribe(to: ParcelKept.self) { _ in withExtendedLifetime(held) {} }
        }()
        // As on a thread that calls the handler, and that has come back from it but not yet swept the channel.
        let slot = DeliveryThread.current.slot
        let channel = bench.publisher.channel(of: ParcelKept.self)
        slot.pointee.setSubscribers(channel.current.load(ordering: .sequentiallyConsistent))
        subscription.cancel()
        slot.pointee.setSubscribers(0)
        #expect(isLockFree.all.isEmpty)
        try ask([ParcelKept.eventName], by: peers[0])
        #expect(isLockFree.all == [true])
    }

    @Test("takes no more room on the others' links, however often a peer changes it before the others read")
    func backAndForth() throws {
        let (one, other) = (peers[0].link, peers[2].link)
        func names(_ count: UInt64) -> [Interest.Name] {
            (1...count).map { .init(number: $0, name: "\($0)" + String(repeating: "n", count: 250)) }
        }
        func tell(_ interest: Interest) throws {
            try one.lock.withLock { try one.sending.peerWants(interest) }
            try bench.router.interestReceived(interest, from: peers[0], over: one)
        }
        // Nearly as much waits as may wait for a peer that reads nothing.
        let text = String(repeating: "r", count: 1_000)
        for sequence: UInt64 in 1...4_100 {
            other.queue(.refuse(Refusal(sequence: sequence, reason: 3, text: text)))
        }
        for _ in 0..<2 {
            try tell(Interest(wanted: names(1_024)))
            try tell(Interest(unwanted: Array(1...1_024)))
        }
        #expect(other.lock.withLock { other.ending.cause } == nil)
        let waiting = other.lock.withLock {
            other.batch.begin()
            return other.batch.remainder.reduce(0) { $0 + $1.count }
        }
        // The whole interest, which was queued before.
        #expect(waiting < 100)
    }

    @Test("reaches a peer that has just come in one message, however many long names the others want")
    func veryManyNames() throws {
        let many = (0..<4).map { bench.peer("many\($0)") }
        let late = bench.peer("late")
        bench.router.exchange(adding: many + [late])
        for (index, peer) in many.enumerated() {
            let names = (1...UInt64(4_096)).map { number in
                let start = "\(index).\(number)."
                return Interest.Name(
                    number: number,
                    name: start + String(repeating: "n", count: EventName.maximumBytes - start.utf8.count)
                )
            }
            peer.link.establish(as: EventSource(origin: peer.peerName, incarnation: 7))
            bench.router.announceInterest(to: peer, over: peer.link)
            try peer.link.lock.withLock { try peer.link.sending.peerWants(Interest(wanted: names)) }
            try bench.router.interestReceived(Interest(wanted: names), from: peer, over: peer.link)
        }
        late.link.establish(as: EventSource(origin: late.peerName, incarnation: 7), frameBytes: 16_777_216)
        bench.router.announceInterest(to: late, over: late.link)
        #expect(late.link.lock.withLock { late.link.ending.cause } == nil)
    }

    private func check() throws {
        for name in Self.names {
            let topic = try #require(bench.router.named(name))
            let wanting = bench.router.lock.withLock { peers.filter { $0.wants(name, isSelfReport: false) } }
            #expect(topic.targets.map(\.peerName) == wanting.map(\.peerName), "\(name)")
            for peer in peers {
                let isAsked = bench.router.lock.withLock {
                    peer.interest.present?.announced.contains(topic.number)
                }
                #expect(isAsked == wanting.contains { $0 !== peer }, "\(name) of \(peer.peerName)")
            }
        }
    }
}

private struct ParcelKept: DomainEvent {}

/// What a handler has captured.
private final class Held: Sendable {
    private let wasReleased: @Sendable () -> Void

    init(_ wasReleased: @escaping @Sendable () -> Void) { self.wasReleased = wasReleased }

    deinit { wasReleased() }
}
