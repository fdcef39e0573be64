import DomainEvents
import EventBridge
import EventBridgeTesting

/// Events that are put aside.
extension Scenarios {
    /// An event that ends each worker that handles it becomes a dead letter; all other events flow on.
    @Sendable static func deadLetters(_ world: SimulationWorld) async throws {
        let fates = Fates()
        let publisher = EventPublisher()
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("handling", subscribes: [Asked.self, Measured.self]) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) { (_: Asked) in fates.handles() },
                        publisher.subscribe(to: Measured.self) { (_: Measured) in world.exitHere(.signal(11)) },
                    ]
                }
            ]
        )
        for number in 0..<20 { fates.accepts(try await publisher.send(Asked(number: number))) }
        let poison = try await publisher.send(Measured(number: 1))
        for number in 20..<40 { fates.accepts(try await publisher.send(Asked(number: number))) }
        try await world.rest(within: .seconds(300))
        let letters = host.deadLetters.map(\.eventID)
        guard letters.contains(poison) else {
            throw SimulationError("the event that ends workers is no dead letter: \(letters)")
        }
        fates.putAside(letters)
        try fates.check("questions")
    }

    /// A dead letter that is put back when its receiver is mended is handled after the events that already wait.
    @Sendable static func redelivery(_ world: SimulationWorld) async throws {
        let (fates, mended) = (Fates(), Received())
        let publisher = EventPublisher()
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("handling", subscribes: [Asked.self]) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) {
                            if $0.number == 7, mended.all.isEmpty { world.exitHere(.status(1)) }
                            fates.handles()
                        }
                    ]
                }
            ]
        )
        for number in 0..<20 { fates.accepts(try await publisher.send(Asked(number: number))) }
        try await world.rest(within: .seconds(300))
        guard !host.deadLetters.isEmpty else { throw SimulationError("the event that ends workers is no dead letter") }
        mended.add(1)
        let letters = host.deadLetters.count
        guard try host.redeliverDeadLetters(of: "handling") == letters, host.deadLetters.isEmpty else {
            throw SimulationError("not all of \(letters) letters were put back")
        }
        try await world.rest(within: .seconds(300))
        guard host.deadLetters.isEmpty else { throw SimulationError("there are letters again: \(host.deadLetters)") }
        try fates.check("questions")
    }

    /// A dead letter of the host's own handlers is kept as long as none of them would get its event.
    @Sendable static func letterOfTheHost(_ world: SimulationWorld) async throws {
        let (refused, handled) = (Fates(), Fates())
        let publisher = EventPublisher()
        var kept = [
            publisher.subscribe(to: Answered.self) { (_: Answered) in
                refused.handles()
                throw SimulationError("refused")
            }
        ]
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("answering", subscribes: [Asked.self]) { publisher in
                    [publisher.subscribe(to: Asked.self) { publisher.publish(Answered(number: $0.number)) }]
                }
            ]
        )
        _ = try await publisher.send(Asked(number: 1))
        try await world.rest(within: .seconds(300))
        let letters = host.deadLetters.filter { $0.worker == "host" }
        // A worker that dies while it answers answers again.
        guard !letters.isEmpty, letters.count == refused.handledCount else {
            throw SimulationError("\(refused.handledCount) answers were refused, \(letters.count) are dead letters")
        }
        kept = []
        for letter in letters {
            do {
                let isTaken = try host.redeliver(letter.id)
                throw SimulationError("an event without a handler was put back: \(isTaken)")
            } catch is DeliveryError {
                handled.accepts(letter.eventID)
            }
        }
        kept.append(publisher.subscribe(to: Answered.self) { (_: Answered) in handled.handles() })
        for letter in letters {
            guard try host.redeliver(letter.id) else { throw SimulationError("a dead letter has been lost") }
        }
        try await world.rest(within: .seconds(300))
        try handled.check("letters")
        withExtendedLifetime(kept) {}
    }
}
