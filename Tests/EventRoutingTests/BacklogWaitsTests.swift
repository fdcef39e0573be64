import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks
import Synchronization
import TestSupport
import Testing

@testable import BridgeTransport
@testable import EventRouting

@Suite("Peers that wait until what others publish gets through", .timeLimit(.minutes(1)))
struct BacklogWaitsTests {
    private let waits = BacklogWaits()
    private let poller: Poller

    init() throws {
        poller = try Poller(name: "backlog test")
    }

    private final class Party: LinkControlSink {
        let peer: Peer
        private let far: any ByteStream
        private let memory: MemoryMapping

        /// - Parameter isCrowded: whether the peer has no room.
        init(_ name: String, _ poller: Poller, speaksLines: Bool = false, isCrowded: Bool = false) throws {
            let source = EventSource(origin: "host", incarnation: 1)
            var limits = LinkLimits()
            if isCrowded { limits.outboxBytes = LinkLimits.minimumCharge }
            peer = Peer(
                peerName: name,
                role: .host,
                ownSource: source,
                limits: limits,
                isRenewed: false,
                poller: poller
            )
            let (near, far) = MemoryStream.pair(poller: poller)
            self.far = far
            memory = try #require(try near.memory?.map())
            memory.bytes.storeBytes(of: OutboxLayout.mark, toByteOffset: OutboxLayout.Field.mark, as: UInt64.self)
            try peer.link.start(over: near, control: self)
            // As once its first line has come.
            peer.link.lock.withLock { peer.link.isInLines = speaksLines }
            let id = EventID(origin: "host", incarnation: 1, number: 1)
            if isCrowded { try peer.put(EventContext(id: id, nanosecondsSinceEpoch: 1), "ParcelSaved") }
        }

        /// Sets the count of accepted events in the shared memory.
        func accept(_ count: UInt64) {
            memory.bytes.storeBytes(of: count, toByteOffset: 24, as: UInt64.self)
        }

        func end() { peer.link.close() }

        func link(_ link: Link, received message: ControlMessage) {}
        func linkEnded(_ link: Link, _ end: LinkEnd) {}
    }

    private final class Passed: Sendable {
        private let value = Atomic(false)
        var isSo: Bool { value.load(ordering: .acquiring) }
        func pass() { value.store(true, ordering: .releasing) }
    }

    /// How many events of the least charge are more than twice the limit where waiting begins.
    private static let tooMany = UInt64(2 * LinkLimits().outboxBytes / LinkLimits.minimumCharge)

    @Test("the wait for a peer that is not backed up is over at once")
    func atOnce() throws {
        let (first, second) = (try Party("first", poller), try Party("second", poller))
        second.accept(Self.tooMany - 1)
        let passed = Passed()
        waits.wait(first.peer, for: second.peer) { passed.pass() }
        #expect(passed.isSo)
        first.end()
        second.end()
    }

    @Test("the wait that would close a circle is not begun, however long the circle; the others go on waiting")
    func circle() throws {
        let peers = try (0..<4).map { try Party("\($0)", poller) }
        for peer in peers { peer.accept(Self.tooMany) }
        let passed = peers.map { _ in Passed() }
        for index in 0..<3 {
            waits.wait(peers[index].peer, for: peers[index + 1].peer) { passed[index].pass() }
            #expect(!passed[index].isSo)
        }
        // Two waits for the same peer are no circle.
        let again = Passed()
        waits.wait(peers[0].peer, for: peers[1].peer) { again.pass() }
        #expect(!again.isSo)
        waits.wait(peers[3].peer, for: peers[0].peer) { passed[3].pass() }
        #expect(passed[3].isSo)
        // The peer that the first waits for has ended: the first passes, and a later thread meets no circle any more.
        peers[1].end()
        waitUntil { passed[0].isSo && again.isSo }
        #expect(!passed[1].isSo && !passed[2].isSo)
        let later = Passed()
        waits.wait(peers[3].peer, for: peers[0].peer) { later.pass() }
        #expect(!later.isSo)
        for peer in peers { peer.end() }
        waitUntil { passed[1].isSo && passed[2].isSo && later.isSo }
    }

    /// Notes that an event of `sender` waits for room at `target`, as a link does when it has brought such an event.
    private func crowd(_ sender: Party, at target: Party) {
        _ = Settlement(
            link: sender.peer.link,
            from: sender.peer,
            sequence: 1,
            receipt: nil,
            crowded: [target.peer],
            backlogs: waits
        )
    }

    @Test(
        "a peer that speaks lines waits for none that waits for room at it: the host may not read its acks then",
        arguments: [true, false],
        [true, false]
    )
    func lines(speaksLines: Bool, roomComesLast: Bool) throws {
        let (asking, answering) = (
            try Party("asking", poller, speaksLines: speaksLines, isCrowded: true), try Party("answering", poller)
        )
        answering.accept(Self.tooMany)
        let passed = Passed()
        if !roomComesLast { crowd(answering, at: asking) }
        waits.wait(asking.peer, for: answering.peer) { passed.pass() }
        if roomComesLast {
            #expect(!passed.isSo)
            crowd(answering, at: asking)
        }
        #expect(passed.isSo == speaksLines)
        asking.end()
        answering.end()
        waitUntil { passed.isSo }
    }

    @Test("a peer that speaks lines and has room is only backed up: its own wait stands, and the new one is not begun")
    func linesWithRoom() throws {
        let asking = try Party("asking", poller, speaksLines: true)
        let answering = try Party("answering", poller)
        for party in [asking, answering] { party.accept(Self.tooMany) }
        let passed = Passed()
        waits.wait(asking.peer, for: answering.peer) { passed.pass() }
        crowd(answering, at: asking)
        #expect(!passed.isSo)
        for party in [asking, answering] { party.end() }
        waitUntil { passed.isSo }
    }

    @Test("in a longer circle through room at a peer that speaks lines, the wait of that peer alone is given up")
    func longerCircleWithLines() throws {
        let asking = try Party("asking", poller, speaksLines: true, isCrowded: true)
        let (middle, answering) = (try Party("middle", poller), try Party("answering", poller))
        let other = try Party("other", poller)
        for party in [middle, answering, other] { party.accept(Self.tooMany) }
        let passed = (0..<3).map { _ in Passed() }
        waits.wait(asking.peer, for: middle.peer) { passed[0].pass() }
        waits.wait(asking.peer, for: other.peer) { passed[1].pass() }
        crowd(answering, at: asking)
        waits.wait(middle.peer, for: answering.peer) { passed[2].pass() }
        #expect(passed.map(\.isSo) == [true, false, false])
        for party in [asking, middle, answering, other] { party.end() }
        waitUntil { passed.allSatisfy(\.isSo) }
    }

    @Test("a peer waits for none that is given up")
    func givenUp() throws {
        let (first, second) = (try Party("first", poller), try Party("second", poller))
        second.accept(Self.tooMany)
        let passed = Passed()
        waits.wait(first.peer, for: second.peer) { passed.pass() }
        #expect(!passed.isSo)
        second.peer.close(because: "the test wants it so", isGivenUp: true)
        #expect(passed.isSo)
        first.end()
        second.end()
    }
}
