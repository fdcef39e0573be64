import BoxEvents
import BoxServices
import BoxShop
import DomainEvents
import EventBridge
import EventBridgeTesting
import Testing

@Test func ordersAreLabelledInMemory() async throws {
    let publisher = EventPublisher()
    let bridge = try await BridgeHost.inMemory(
        publisher,
        workers: [
            InMemoryWorker("provisioning", subscribes: [BoxOrdered.self]) { provisionBoxes(on: $0) },
            InMemoryWorker("labels", subscribes: [BoxProvisioned.self]) { labelBoxes(on: $0) },
        ]
    )
    let box = try await publisher.request(BoxOrdered(number: 7), awaiting: BoxLabelled.self, within: .seconds(60))
    #expect(box.label == "Box No. 7")
    await bridge.shutdown()
}

@Test func ordersAreLabelledByProcesses() async throws {
    let publisher = EventPublisher()
    let bridge = try makeBridge(for: publisher)
    try await bridge.start()
    let box = try await publisher.request(BoxOrdered(number: 7), awaiting: BoxLabelled.self, within: .seconds(60))
    #expect(box.label == "Box No. 7")
    await bridge.shutdown()
}
