import BoxEvents
import DomainEvents
import EventBridgeTesting
import Testing

@Test func everyBoxIsProvisioned() async throws {
    try await BridgeSimulation(seeds: 200).run { world in
        let publisher = EventPublisher()
        let shelf = Shelf()
        let kept = publisher.subscribe(to: BoxProvisioned.self) { shelf.put($0.number) }
        let worker = InMemoryWorker("provisioning", subscribes: [BoxOrdered.self]) { publisher in
            [publisher.subscribe(to: BoxOrdered.self) { publisher.publish(BoxProvisioned(number: $0.number)) }]
        }
        try await world.start(publisher, workers: [worker])
        for number in 1...100 { try await publisher.send(BoxOrdered(number: number)) }
        try await world.rest(within: .seconds(60))
        guard shelf.count == 100 else { throw SimulationError("only \(shelf.count) boxes are on the shelf") }
        withExtendedLifetime(kept) {}
    }
}
