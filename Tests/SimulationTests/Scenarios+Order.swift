import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting

/// What comes before what, and to whom.
extension Scenarios {
    /// On one queue of the publisher's own process no subscriber sees an effect before its cause.
    @Sendable static func causes(_ world: SimulationWorld) async throws {
        let asked = Received()
        let answered = Received()
        let publisher = EventPublisher()
        let queue = DispatchQueue(label: "both")
        let kept = [
            publisher.subscribe(to: Asked.self, on: .queue(queue)) { asked.add($0.number) },
            publisher.subscribe(to: Answered.self, on: .queue(queue)) { event in
                if !asked.all.contains(event.number) { world.fail("answer \(event.number) came before its question") }
                answered.add(event.number)
            },
        ]
        try await world.start(
            publisher,
            workers: [
                InMemoryWorker("answering", subscribes: [Asked.self]) { publisher in
                    [publisher.subscribe(to: Asked.self) { publisher.publish(Answered(number: $0.number)) }]
                }
            ]
        )
        for number in 0..<60 { publisher.publish(Asked(number: number)) }
        try await world.rest(within: .seconds(120))
        withExtendedLifetime(kept) {}
    }

    /// A pool: each event comes to one member, and what one does not finish another start of it does.
    @Sendable static func pool(_ world: SimulationWorld) async throws {
        let fates = Fates()
        let publisher = EventPublisher()
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker(
                    "pool",
                    subscribes: [Asked.self],
                    pool: WorkerPool(3).keyed(Asked.self, byField: "number")
                ) { publisher in
                    [publisher.subscribe(to: Asked.self) { (_: Asked) in fates.handles() }]
                }
            ]
        )
        for number in 0..<90 { fates.accepts(try await publisher.send(Asked(number: number % 7))) }
        try await world.rest(within: .seconds(200))
        fates.putAside(host.deadLetters.map(\.eventID))
        try fates.check("questions")
        if !world.mayComeAgain { try fates.checkOnce("questions") }
    }
}
