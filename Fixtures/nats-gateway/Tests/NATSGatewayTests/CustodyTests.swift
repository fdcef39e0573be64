import DomainEvents
import Testing

@testable import NATSGateway
@testable import nats_gateway

/// What becomes of an imported event after an error of the host's publisher.
@Suite struct CustodyTests {
    private struct Surprise: Error {}

    @Test(
        arguments: [
            (.notEncodable, .refused("x")), (.eventTooLarge, .refused("x")), (.nameHasType, .refused("x")),
            (.outboxFull, .notNow("x")), (.shuttingDown, .ended), (.workerUnavailable, .ended),
            (.mayNotImport, .failed(.end("the host takes no events: x"))),
            (.noSubscriber, .failed(.again("the host takes no events: x"))),
            (.refused, .failed(.again("the host takes no events: x"))),
            (.deadLettered, .failed(.again("the host takes no events: x"))),
            (.timedOut, .failed(.again("the host takes no events: x"))),
            (.insideTransaction, .failed(.again("the host takes no events: x"))),
        ] as [(DeliveryError.Code, Custody)]
    )
    func eachErrorOfThePublisherHasItsConsequence(_ code: DeliveryError.Code, _ custody: Custody) {
        #expect(Custody(after: code, "x") == custody)
    }

    @Test func otherErrorsAreSaidAndOnlyACancellationIsQuiet() {
        #expect(Custody(after: CancellationError()) == .ended)
        let unusable = NATSGateway.ImportedEvent.Unusable(description: "no identity")
        #expect(Custody(after: unusable) == .refused("no identity"))
        #expect(Custody(after: Surprise()) == .failed(.again("the host takes no events: Surprise()")))
    }

    @Test func eventThatNoHostCanHaveIsNoReasonToEnd() throws {
        let id = "\(String(repeating: "x", count: 300))-1f-1"
        let berlin = try node("berlin")
        let headers = EventHeaders(id: id, source: "s", name: "Counted", path: [berlin])
        let event = NATSGateway.ImportedEvent(node: berlin, headers: headers, payload: [0x01])
        let error = #expect(throws: DeliveryError.self) { try event.forHost(at: try node("paris")) }
        guard case .refused = Custody(after: try #require(error)) else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
