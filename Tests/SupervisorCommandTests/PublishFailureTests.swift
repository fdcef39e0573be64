import DomainEvents
import Testing

@testable import supervisor

@Suite("Why an event was not handled")
struct PublishFailureTests {
    @Test(
        "when its time is over, it is said whether the event has left, and where it was handled",
        arguments: [
            (nil, "it did not leave in time, so it was not published"),
            (DeliveryProgress(handled: [], unheard: ["host"]), "it may still be handled"),
            (DeliveryProgress(handled: [], unheard: []), "it may still be handled"),
            (DeliveryProgress(handled: ["a", "b"], unheard: ["c"]), "it was handled by a, b; it may still be handled"),
        ]
    )
    func timeIsOver(progress: DeliveryProgress?, outlook: String) {
        let own = EventID(origin: "publish", incarnation: 0x5f, number: 2)
        let error = DeliveryError(
            .timedOut,
            of: "Ask",
            id: own,
            "Ask \(own) was not handled within 1.0 seconds",
            progress: progress
        )
        let failure = PublishFailure(error, of: "Ask", among: []) {
            EventID(origin: "client-1", incarnation: $0.incarnation, number: $0.number)
        }
        #expect(failure.status == .unhandledEvents)
        #expect(failure.sentence == "Ask client-1-5f-2 was not handled within 1.0 seconds; \(outlook)")
    }
}
