import BridgeProtocol
import BridgeTransport
import Dispatch
import DomainEvents
import TestSupport
import Testing

@testable import EventRouting

private struct Unwilling: Error, CustomStringConvertible {
    let description: String
}

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

    @Test("that are refused after the end has begun do not pass the tap")
    func refusedBehindTap() throws {
        let seen = Collected<String>()
        let bench = try RoutingBench(tap: { seen.add($0.name) })
        bench.router.start()
        func publish() -> Result<Int, DeliveryError> {
            [UInt8(0xA0)].withUnsafeBytes { bench.router.publish(name: "ParcelSaved", payload: $0) }
        }
        _ = try publish().get()
        #expect(seen.all == ["ParcelSaved"])
        bench.router.closeIntake()
        guard case .failure(let error) = publish() else {
            Issue.record("the event was taken")
            return
        }
        #expect(error.code == .shuttingDown && seen.count == 1)
    }

    @Test("on which handlers here throw: each error that the caller is not told is reported")
    func throwingHandlers() async throws {
        let (publisher, failures) = (bench.publisher, Collected<String>())
        let held = Collected<UnsettledDelivery<UntypedEvent>>()
        var subscriptions = [publisher.subscribe(to: HandlerFailed.self) { failures.add($0.error) }]
        for name in ["first", "second"] {
            subscriptions.append(
                try publisher.subscribe(toEventsNamed: "ParcelSaved") { (_: UntypedEvent) in
                    throw Unwilling(description: name)
                }
            )
        }
        guard case .failure(let error) = publish([0x01]) else {
            Issue.record("the caller is told of no error")
            return
        }
        #expect(error.description.contains("first") && failures.all == ["second"])
        subscriptions.append(
            try publisher.subscribe(toEventsNamed: "ParcelSaved", on: .queue(.global()), acknowledging: .manually) {
                held.add($0)
            }
        )
        // The caller does not wait for the handler on the queue, and so is told of no handler.
        #expect(try publish([0x01]).get() == 2)
        #expect(failures.all == ["second", "first", "second"])
        try #require(await held.wait(for: 1).first).refuse(Unwilling(description: "late"))
        #expect(failures.all.last == "late" && failures.count == 4)
        for subscription in subscriptions { subscription.cancel() }
    }
}
