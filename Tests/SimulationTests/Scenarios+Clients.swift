import DomainEvents
import EventBridge
import EventBridgeTesting

/// Processes that have attached.
extension Scenarios {
    /// The events that a client delivers are handled, and the events that it wants come to it in order; the client may
    /// end at any time, and nothing waits for it.
    @Sendable static func clients(_ world: SimulationWorld) async throws {
        let (handled, delivered, seen, published) = (Received(), Received(), Received(), Fates())
        let publisher = EventPublisher()
        let host = try await world.start(
            publisher,
            workers: [answeringWorker(handled)],
            control: ControlSocket("control")
        )
        let monitor = await world.attach("monitor") { publisher in
            [publisher.subscribe(to: Measured.self) { seen.add($0.number) }]
        }
        await world.attach("frontend") { publisher in
            world.task {
                for number in 0..<30 {
                    do {
                        _ = try await publisher.deliver(Asked(number: number), within: .seconds(20))
                        delivered.add(number)
                    } catch let error as DeliveryError {
                        // The client is not attached yet, or no longer.
                        world.note("\(number): \(error)")
                        try await world.sleep(for: .milliseconds(50))
                    }
                }
            }
            return [publisher.subscribe(to: Answered.self) { (_: Answered) in }]
        }
        // Both clients have sent their interest, which may not have arrived.
        try await world.sleep(for: .seconds(1))
        for number in 0..<60 {
            published.accepts(try await publisher.send(Measured(number: number)))
            try await world.sleep(for: .milliseconds(1))
        }
        try await world.sleep(for: .seconds(5))
        try await world.rest(within: .seconds(200))
        let missing = Set(delivered.all).subtracting(handled.all)
        guard missing.isEmpty else { throw SimulationError("\(missing.sorted()) were delivered and never handled") }
        guard seen.all == seen.all.sorted(), Set(seen.all).count == seen.all.count else {
            throw SimulationError("the monitor has seen \(seen.all)")
        }
        if world.faultsMet.isEmpty, seen.all.count != 60 {
            throw SimulationError("the monitor has seen only \(seen.all.count) of 60")
        }
        if world.faultsMet.isEmpty, host.clients.count != 2 {
            throw SimulationError("\(host.clients.count) are attached")
        }
        await monitor.close()
    }

    /// A client finds the next host when its own was killed.
    @Sendable static func clientsReturn(_ world: SimulationWorld) async throws {
        let handled = Received()
        let host = await world.startHost(
            workers: [answeringWorker(handled)],
            control: ControlSocket("control")
        ) { publisher, bridge in
            try await bridge.start()
            return [publisher.subscribe(to: Answered.self) { (_: Answered) in }]
        }
        let client = await world.attach("frontend") { publisher in
            world.task {
                for number in 0..<40 {
                    publisher.publish(Asked(number: number))
                    try await world.sleep(for: .milliseconds(5))
                }
            }
            return []
        }
        try await world.sleep(for: .microseconds(Int64(world.number(below: 100_000))))
        host.kill(startingAgainAfter: .milliseconds(Int64(world.number(below: 3_000))))
        try await world.rest(within: .seconds(200))
        // The client tries again within five seconds, and waits up to ten for the answer.
        for _ in 0..<30 where !client.isAttached && !client.hasEnded { try await world.sleep(for: .seconds(1)) }
        guard client.isAttached || client.hasEnded else { throw SimulationError("the client has not come back") }
        try await world.rest(within: .seconds(200))
    }

    private static func answeringWorker(_ handled: Received) -> InMemoryWorker {
        InMemoryWorker("answering", subscribes: [Asked.self]) { publisher in
            [
                publisher.subscribe(to: Asked.self) {
                    handled.add($0.number)
                    publisher.publish(Answered(number: $0.number))
                }
            ]
        }
    }
}
