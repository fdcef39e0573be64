import BridgeProtocol
import BridgeTransport
import DomainEvents
import Testing

@testable import EventRouting

@Suite("The event of a dead letter, offered to its worker again")
struct RedeliveryTests {
    private static let name = "Box"
    private let bench: RoutingBench

    init() throws {
        bench = try RoutingBench(keepsLetters: true)
    }

    /// A worker that is down, with room for 16 small events.
    private func worker(_ policy: OverflowPolicy) -> Peer {
        var limits = LinkLimits()
        limits.outboxBytes = 16 * LinkLimits.minimumCharge
        limits.overflow = OverflowPolicies([Self.name: policy])
        let peer = bench.peer("worker", wants: [Self.name], limits: limits)
        bench.router.add(peer)
        return peer
    }

    /// An event with the value 1 in its field `k`.
    private static let payload: [UInt8] = [0xA1, 0x61, 0x6B, 0x01]

    /// - Returns: The event's number.
    @discardableResult
    private func put(_ name: String = RedeliveryTests.name, for peer: Peer) throws -> UInt64 {
        let context = bench.makeContext()
        _ = try Self.payload.withUnsafeBytes { payload in
            try peer.enqueue(context, name: name, isHeld: false, isAccepted: true, payload: payload)
        }
        return context.id.number
    }

    /// Makes a letter of a new event.
    private func makeLetter(isOwed: Bool = false) throws -> (letter: UInt64, event: UInt64) {
        let letters = try #require(bench.router.deadLetters)
        let event = UndeliveredEvent(
            name: Self.name,
            context: bench.makeContext(),
            attempts: 1,
            isOwed: isOwed,
            payload: Self.payload
        )
        _ = letters.addIfRoom(event, for: NotedReceiver(name: "worker"), cause: .refused, reasons: ["no"])
        return (try #require(letters.letters.last?.number), event.context.id.number)
    }

    @Test("comes behind a newer event with its key, and replaces it as little as a later event replaces the letter's")
    func olderValue() throws {
        let peer = worker(.latest(by: "k"))
        let (letter, old) = try makeLetter(isOwed: true)
        let new = try put(for: peer)
        #expect(try bench.router.redeliver(letter)?.outcome == .accepted)
        #expect(peer.statistics.waiting == 2)
        let newest = try put(for: peer)
        #expect(peer.statistics.waiting == 2)
        let left = peer.link.retireForGood()
        #expect(left.map(\.context.id.number) == [old, newest] && !left.contains { $0.context.id.number == new })
        // The event still is what it was: a journal has to hear of it, and its next attempt is the third.
        #expect(left.first?.isOwed == true && left.first?.attempts == 1)
    }

    @Test(
        "is not taken without room, whatever the policy: the letter stays",
        arguments: [OverflowPolicy.dropNewest, .dropOldest, .latest(by: "k")]
    )
    func noRoom(policy: OverflowPolicy) throws {
        let peer = worker(policy)
        let (letter, event) = try makeLetter()
        for _ in 0..<16 { try put("Else", for: peer) }
        let error = #expect(throws: DeliveryError.self) { try bench.router.redeliver(letter) }
        #expect(error?.code == .outboxFull)
        #expect(error?.id?.number == event)
        #expect(bench.router.deadLetters?.letters.map(\.number) == [letter])
        #expect(peer.link.retireForGood().allSatisfy { $0.name == "Else" })
    }

    @Test("may find its id in the worker's store: the worker is not told what to forget from its third crash on")
    func crashes() throws {
        let peer = worker(.wait)
        let context = bench.makeContext()
        try peer.put(context, Self.name)
        try put(for: peer)
        for crash in 1...3 {
            #expect(!peer.link.hasOwed)
            let verdict = bench.router.workerCrashed(
                peer,
                over: peer.link,
                because: "it crashed",
                suspects: [context.id]
            )
            #expect(verdict == (crash == 3 ? .deadLetter : .strike))
        }
        #expect(bench.router.deadLetters?.letters.map(\.event.context.id) == [context.id])
        #expect(peer.link.hasOwed)
    }

    @Test("drops no event, and is not dropped for later events")
    func dropsNothing() throws {
        let peer = worker(.dropOldest)
        let (letter, old) = try makeLetter()
        let first = try put(for: peer)
        #expect(try bench.router.redeliver(letter)?.outcome == .accepted)
        // The last of them needs the room of the first event.
        let later = try (0..<15).map { _ in try put(for: peer) }
        #expect(peer.link.retireForGood().map(\.context.id.number) == [old] + later)
        #expect(!later.contains(first))
    }

    @Test("goes over the next link if the present one has just ended")
    func endedLink() throws {
        let peer = worker(.wait)
        let ended = peer.link
        _ = ended.retireForGood()
        let (letter, old) = try makeLetter()
        #expect(try bench.router.redeliver(letter)?.outcome == .accepted)
        #expect(peer.link !== ended)
        #expect(peer.link.retireForGood().map(\.context.id.number) == [old])
    }

    @Test(
        "is not taken by a worker that takes no events, or that is leaving: the letter stays",
        arguments: [false, true]
    )
    func notTaken(isLeaving: Bool) throws {
        let peer = worker(.wait)
        let (letter, event) = try makeLetter()
        if isLeaving {
            bench.router.exchange(adding: [], leaving: [peer])
        } else {
            peer.close(because: "it was stopped")
        }
        let error = #expect(throws: DeliveryError.self) { try bench.router.redeliver(letter) }
        #expect(error?.code == .workerUnavailable)
        #expect(error?.id?.number == event)
        #expect(error?.description.contains(isLeaving ? "it is being removed" : "it was stopped") == true)
        #expect(bench.router.deadLetters?.letters.map(\.number) == [letter])
        // Other workers get such events instead of a leaving one: so it has rejected nothing.
        #expect(peer.statistics.rejected == (isLeaving ? 0 : 1))
    }
}
