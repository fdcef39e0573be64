import DomainEvents
import EventBridge
import EventBridgeTesting
import TestSupport
import Testing

/// An event of any depth: each doll is a map and an array.
private struct DollMade: DomainEvent {
    let inner: [DollMade]

    static func ofSize(_ size: Int) -> DollMade {
        (1..<size).reduce(DollMade(inner: [])) { doll, _ in DollMade(inner: [doll]) }
    }

    var size: Int { 1 + (inner.first?.size ?? 0) }
}

/// An event that is written in another form than it is read, as by a program of another version.
private struct DollPainted: DomainEvent {
    struct Paint: Codable, Sendable {
        let color: Int

        private enum Key: String, CodingKey { case color }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode("red", forKey: .color)
        }
    }

    let paints: [Paint]
}

@Suite("Events that cannot be encoded", .timeLimit(.minutes(5)))
struct UnencodableEventTests {
    private let publisher = EventPublisher()

    @Test("D10: an event nested too deep is an error to its sender, is announced if published, and the next one goes")
    func tooDeep() async throws {
        let sizes = Collected<Int>()
        let dropped = Collected<EventsDropped>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("shelf", subscribes: [DollMade.self]) { publisher in
                    [publisher.subscribe(to: DollMade.self) { sizes.add($0.size) }]
                }
            ]
        )
        let reports = publisher.subscribe(to: EventsDropped.self) { dropped.add($0) }
        await #expect {
            try await publisher.send(DollMade.ofSize(33))
        } throws: { error in
            let error = error as? DeliveryError
            return error?.code == .notEncodable
                && error?.description.contains("more than 64 levels deep at inner[0]") == true
                && error?.field?.hasPrefix("inner[0].inner[0]") == true
        }
        publisher.publish(DollMade.ofSize(40))
        await dropped.wait { !$0.isEmpty }
        #expect(dropped.all.map(\.event) == [DollMade.eventName])
        #expect(dropped.all.map(\.count) == [1])
        #expect(dropped.all[0].reason.contains("more than 64 levels deep"))
        try await publisher.send(DollMade.ofSize(32))
        await bridge.waitUntilIdle()
        #expect(sizes.all == [32])
        reports.cancel()
        await bridge.shutdown()
    }

    @Test("the error for an event that another process cannot read has the path of the field")
    func fieldThatCannotBeRead() async throws {
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("shelf", subscribes: [DollPainted.self]) { publisher in
                    [publisher.subscribe(to: DollPainted.self) { _ in }]
                }
            ]
        )
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(DollPainted(paints: [.init(color: 1)]), within: .seconds(240))
        }
        #expect(error?.code == .refused && error?.worker == "shelf" && error?.event == DollPainted.eventName)
        #expect(error?.field == "paints[0].color", "\(String(describing: error))")
        await bridge.shutdown()
    }
}
