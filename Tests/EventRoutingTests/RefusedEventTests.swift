import BridgeProtocol
import BridgeTransport
import DomainEvents
import Testing

@testable import EventRouting

@Suite("An event that a peer refuses", .timeLimit(.minutes(2)))
struct RefusedEventTests {
    @Test(
        "becomes a dead letter, and the link hears of it; not in a worker, not for an attached peer, and no report does",
        arguments: [false, true]
    )
    func letter(isOwed: Bool) throws {
        for (keepsLetters, isAttached, name) in [
            (true, false, "Box"), (false, false, "Box"), (true, true, "Box"), (true, false, EventRefused.eventName),
        ] {
            let bench = try RoutingBench(keepsLetters: keepsLetters)
            let peer = bench.peer("canvas", isAttached: isAttached)
            let head = EventHead(
                sequence: 1,
                id: .sender(number: 1),
                nanosecondsSinceEpoch: 1,
                name: .text(name)
            )
            let isKept = [UInt8(0xA0)].withUnsafeBytes { payload in
                PeerEvents(of: peer, to: bench.router).link(
                    peer.link,
                    wasRefused: head,
                    payload: payload,
                    isOwed: isOwed,
                    refusal: Refusal(sequence: 1, reason: 2, text: "no")
                )
            }
            #expect(isKept == (keepsLetters && !isAttached && name == "Box"))
            let letters = bench.router.deadLetters?.letters ?? []
            #expect(letters.map(\.event.isOwed) == (isKept ? [isOwed] : []))
            bench.router.stop()
        }
    }
}
