import Dispatch
import DomainEvents
import Testing

@testable import NATSGateway
@testable import nats_gateway

/// What the gateway makes of an event that the host gives it.
@Suite(.timeLimit(.minutes(1))) struct ExportedEventTests {
    /// The event that the gateway makes of a delivery with this attempt.
    private func exported(attempt: Int) async throws -> ExportedEvent {
        let publisher = EventPublisher()
        let made = Changing<[ExportedEvent]>([])
        let berlin = try node("berlin")
        let subscription = try publisher.subscribe(
            toEventsNamed: "Counted",
            on: .queue(DispatchQueue(label: "test")),
            acknowledging: .manually
        ) { delivery in
            made.change { $0.append(ExportedEvent(delivery, from: berlin, crossings: 1)) }
        }
        // A test can choose the attempt of an imported event, and of no other event.
        let event = try DomainEvents.ImportedEvent(
            UntypedEvent(name: "Counted", payload: [0x01]),
            id: EventID(origin: "rome/host", incarnation: 0x1f, number: 7),
            attempt: attempt
        )
        try publisher.publish(importing: event)
        await made.wait { !$0.isEmpty }
        subscription.cancel()
        let exported = try #require(made.value.first)
        exported.settle(nil)
        return exported
    }

    @Test(arguments: [1, 2, 5])
    func messageSaysThatAnEventWhichTheHostGivesAgainMayBeStored(_ attempt: Int) async throws {
        let event = try await exported(attempt: attempt)
        #expect(event.isRepeat == (attempt > 1))
        #expect(event.headers().attempt == attempt)
        let field = event.headers().fields.first { "\($0.name)" == "bridge-attempt" }
        #expect(field?.value == (attempt > 1 ? "\(attempt)" : nil))
    }
}
