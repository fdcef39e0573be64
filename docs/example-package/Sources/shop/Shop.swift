import BoxEvents
import BoxShop
import DomainEvents

@main struct Shop {
    static func main() async throws {
        let publisher = EventPublisher()
        let bridge = try makeBridge(for: publisher)
        try await bridge.start()
        for number in 1...3 {
            let box = try await publisher.request(
                BoxOrdered(number: number),
                awaiting: BoxLabelled.self,
                within: .seconds(5)
            )
            print("box \(box.number) is labelled \"\(box.label)\"")
        }
        await bridge.shutdown()
    }
}
