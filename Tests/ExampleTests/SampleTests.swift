import CBOR
import DomainEvents
import ExampleDomain
import ExampleServices
import JSONText
import Testing

@Suite("The sample of the README shows every outcome")
struct SampleTests {
    @Test("Each line is an event that its worker accepts, and together they lead to all outcomes")
    func showsAllOutcomes() throws {
        let publisher = EventPublisher()
        let recorder = Recorder(publisher)
        let directory = try TemporaryDirectory()
        let subscriptions =
            try Provisioning.start(publisher: publisher, store: directory.path("boxes.json"))
            + CanvasStore.start(publisher: publisher, directory: directory.path("drawings"))
        var answers: [String: Int] = [:]
        for line in try Sample.content("relocation.jsonl").split(separator: UInt8(ascii: "\n")) {
            let node = try JSONReader().read(Array(line))
            guard case .string(let type) = node["type"]?.value, let data = try node["data"]?.cborValue.encoded() else {
                Issue.record("a line without type or data")
                continue
            }
            switch type {
            case "BoxOrdered": try publish(BoxOrdered.self, data, publisher)
            case "ItemReceived": try publish(ItemReceived.self, data, publisher)
            case "BoxRemovalRequested": try publish(BoxRemovalRequested.self, data, publisher)
            case "ItemRemovalRequested": try publish(ItemRemovalRequested.self, data, publisher)
            case "CanvasSaveRequested": try publish(CanvasSaveRequested.self, data, publisher)
            default: Issue.record("no worker wants \(type)")
            }
            let outcome = recorder.take().map { Swift.type(of: $0).eventName }
            #expect(!outcome.isEmpty)
            for name in outcome { answers[name, default: 0] += 1 }
        }
        #expect(
            answers.keys.sorted() == [
                "BoxItemsRedistributionFailed", "BoxProvisioned", "BoxProvisioningFailed", "BoxRemovalFailed",
                "BoxRemoved",
                "CanvasSaved", "ItemDistributionFailed", "ItemMoved", "ItemProvisioned", "ItemRemovalFailed",
                "ItemRemoved", "SavingCanvasFailed",
            ]
        )
        #expect(try directory.names == ["boxes.json", "drawings"])
        withExtendedLifetime(subscriptions) {}
    }

    private func publish<E: DomainEvent>(_ type: E.Type, _ data: [UInt8], _ publisher: EventPublisher) throws {
        let event = try CBORDecoder().decode(type, from: data)
        try event.validate()
        publisher.publish(event)
    }

    @Test("The configuration subscribes each worker to what it handles and lets it publish what it answers")
    func configurationNamesEvents() throws {
        let node = try JSONReader(dialect: .json5).read(try Sample.content("relocation.json"))
        guard case .array(let workers) = node["workers"]?.value else {
            Issue.record("the configuration lists no workers")
            return
        }
        var names = Set<String>()
        for worker in workers {
            for key in ["subscribes", "publishes"] {
                guard case .array(let list) = worker[key]?.value else { continue }
                for case .string(let name) in list.map(\.value) { names.insert(name) }
            }
        }
        #expect(names.count == 17)
        for type in Self.events { #expect(names.contains(type.eventName)) }
    }

    private static let events: [any DomainEvent.Type] = [
        BoxOrdered.self, BoxProvisioned.self, BoxProvisioningFailed.self, BoxRemovalRequested.self, BoxRemoved.self,
        BoxRemovalFailed.self, BoxItemsRedistributionFailed.self, ItemReceived.self, ItemProvisioned.self,
        ItemDistributionFailed.self, ItemMoved.self, ItemRemovalRequested.self, ItemRemoved.self,
        ItemRemovalFailed.self, CanvasSaveRequested.self, CanvasSaved.self, SavingCanvasFailed.self,
    ]
}
