import BridgeProtocol
import BridgeTransport
import DomainEvents
import Testing

@testable import EventRouting

@Suite("A peer that has the name of one that was removed", .timeLimit(.minutes(2)))
struct FormerPeerTests {
    @Test("gets no settled mark if a recorded event went to the one before", arguments: [false, true])
    func owed(isOwed: Bool) throws {
        let bench = try RoutingBench(keepsLetters: true)
        let former = bench.peer("canvas", wants: ["Box"])
        bench.router.add(former)
        _ = try [UInt8(0xA0)].withUnsafeBytes { payload in
            try former.enqueue(bench.makeContext(), name: "Box", isHeld: false, isOwed: isOwed, payload: payload)
        }
        #expect(former.link.hasOwed == isOwed)
        former.close(because: "it was stopped")
        bench.router.retire(former)
        let next = bench.peer("canvas", wants: ["Box"])
        let other = bench.peer("other", wants: ["Box"])
        bench.router.exchange(adding: [next, other])
        #expect(next.link.hasOwed == isOwed)
        #expect(!other.link.hasOwed)
        bench.router.stop()
    }

    @Test("gets no settled mark if one before has had an event that is a dead letter now", arguments: [1, 2])
    func letter(attempt: Int) throws {
        let bench = try RoutingBench(keepsLetters: true)
        let former = bench.peer("canvas", wants: ["Box"])
        bench.router.add(former)
        _ = try [UInt8(0xA0)].withUnsafeBytes { payload in
            try former.enqueue(bench.makeContext(), name: "Box", attempt: attempt, isHeld: false, payload: payload)
        }
        former.close(because: "it was stopped")
        bench.router.retire(former)
        #expect(bench.router.deadLetters?.letters.map(\.event.attempts) == [attempt - 1])
        let next = bench.peer("canvas", wants: ["Box"])
        bench.router.exchange(adding: [next])
        // An event that no process has had was not handled.
        #expect(next.link.hasOwed == (attempt > 1))
        bench.router.stop()
    }
}
