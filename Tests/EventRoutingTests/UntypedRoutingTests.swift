import BridgeProtocol
import BridgeTransport
import DomainEvents
import TestSupport
import Testing

@testable import EventRouting

@Suite("Events without a type in a router", .timeLimit(.minutes(5)))
struct UntypedRoutingTests {
    private let bench: RoutingBench
    private let peer: Peer

    init() throws {
        bench = try RoutingBench()
        peer = bench.peer("one", wants: ["ParcelSaved"])
        bench.router.exchange(adding: [peer])
        bench.router.start()
    }

    private func publish(_ payload: [UInt8]) -> Result<Int, DeliveryError> {
        payload.withUnsafeBytes { bench.router.publish(name: "ParcelSaved", payload: $0) }
    }

    @Test("leave with their payload as it is, beside those of the command line")
    func payloadLeavesAsItIs() throws {
        // The shortest form is another one: a list of indefinite length that holds a number in two bytes.
        let payload: [UInt8] = [0x9F, 0x18, 0x01, 0xFF]
        try bench.publisher.publish(UntypedEvent(name: "ParcelSaved", payload: payload))
        #expect(peer.link.retireForGood().map(\.payload) == [payload])
    }

    @Test("are refused at their receiver if their payload is not one item")
    func malformedPayload() throws {
        let seen = Collected<[UInt8]>()
        let subscription = try bench.publisher.subscribe(toEventsNamed: "ParcelSaved") { (event: UntypedEvent) in
            seen.add(event.payload)
        }
        #expect(try publish([0x9F, 0x18, 0x01, 0xFF]).get() == 2)
        #expect(seen.all == [[0x9F, 0x18, 0x01, 0xFF]])
        let mistakes: [([UInt8], String)] = [
            ([0x82, 0x01], "ends in the middle of an item"), ([0x01, 0x01], "1 more byte"),
        ]
        for (payload, text) in mistakes {
            guard case .failure(let error) = publish(payload) else {
                Issue.record("the payload \(payload) was taken")
                continue
            }
            #expect(error.description.contains(text), "\(error)")
        }
        #expect(seen.count == 1)
        subscription.cancel()
    }
}
