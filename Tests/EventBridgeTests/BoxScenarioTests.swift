import BridgePlatform
import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import ExampleServices
import Supervision
import Testing

/// Where provisioning lives in a run of the scenario.
enum Home: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sameProcess
    case inMemory
    case worker

    var testDescription: String { rawValue }
}

/// One frontend, one scenario, three homes of the backend: the frontend's code is the same to the letter.
@Suite("The box and item presenter shows what provisioning does, wherever provisioning lives", .serialized)
struct BoxScenarioTests {
    @Test(
        "Boxes are filled evenly, moved and removed, and failures are told",
        .timeLimit(.minutes(5)),
        arguments: Home.allCases
    )
    func presenterFollowsEvents(home: Home) async throws {
        let directory = try TemporaryDirectory()
        let publisher = EventPublisher()
        let presenter = BoxListPresenter(publisher: publisher)
        let backend = try await Backend(home, publisher: publisher, store: directory.path + "/boxes.json")

        // Identifiers that a `Double` cannot tell apart.
        let books = BoxID(9_007_199_254_740_993)
        let tools = BoxID(9_007_199_254_740_995)
        publisher.publish(BoxOrdered(label: "Books", capacity: 5, boxID: books))
        publisher.publish(BoxOrdered(label: "Tools", capacity: 10, boxID: tools))
        publisher.publish(BoxOrdered(label: "Nothing", capacity: 7))
        for number in 1...4 {
            publisher.publish(ItemReceived(title: "Item \(number)", itemID: ItemID(Int64(number))))
        }
        let filled = try await presenter.list { list in
            list.rows.flatMap(\.items).count == 4 && !list.notices.isEmpty
        }
        #expect(filled.rows.map(\.boxID) == [books, tools])
        #expect(filled.rows.map { $0.items.map(\.title) } == [["Item 1", "Item 3"], ["Item 2", "Item 4"]])
        #expect(filled.notices.count == 1)
        #expect(filled.notices.first?.contains("Nothing") == true)

        publisher.publish(BoxRemovalRequested(boxID: tools))
        publisher.publish(ItemRemovalRequested(itemID: ItemID(1), boxID: books))
        publisher.publish(BoxRemovalRequested(boxID: BoxID(404)))
        let emptied = try await presenter.list { $0.rows.count == 1 && $0.notices.count == 2 }
        #expect(emptied.rows.map(\.boxID) == [books])
        #expect(Set(emptied.rows[0].items.map(\.title)) == ["Item 2", "Item 3", "Item 4"])

        await backend.shutdown()
    }

    @Test("A request gets the answer to itself, or its failure", .timeLimit(.minutes(5)), arguments: Home.allCases)
    func requestsAreAnswered(home: Home) async throws {
        let directory = try TemporaryDirectory()
        let publisher = EventPublisher()
        let backend = try await Backend(home, publisher: publisher, store: directory.path + "/boxes.json")

        // Many requests at once, with other events between them: each gets its own answer.
        try await withThrowingTaskGroup(of: (String, BoxProvisioned).self) { group in
            for number in 1...20 {
                group.addTask {
                    let label = "Box \(number)"
                    let box = try await publisher.request(
                        BoxOrdered(label: label, capacity: 5),
                        awaiting: BoxProvisioned.self,
                        orThrowing: BoxProvisioningFailed.self,
                        within: patience
                    )
                    return (label, box)
                }
                publisher.publish(BoxOrdered(label: "Nobody asked", capacity: 5))
            }
            for try await (label, box) in group { #expect(box.label == label) }
        }

        let failure = await #expect(throws: RequestFailed<BoxProvisioningFailed>.self) {
            try await publisher.request(
                BoxOrdered(label: "Nothing", capacity: 7),
                awaiting: BoxProvisioned.self,
                orThrowing: BoxProvisioningFailed.self,
                within: patience
            )
        }
        #expect(failure?.event.label == "Nothing")

        await backend.shutdown()
    }
}

/// Provisioning in one of its homes.
private struct Backend {
    private let bridge: BridgeHost?
    private let subscriptions: [Subscription]

    private static let requests: [any DomainEvent.Type] = [
        BoxOrdered.self, ItemReceived.self, BoxRemovalRequested.self, ItemRemovalRequested.self,
    ]

    init(_ home: Home, publisher: EventPublisher, store: String) async throws {
        switch home {
        case .sameProcess:
            bridge = nil
            subscriptions = try Provisioning.start(publisher: publisher, store: store)
        case .inMemory:
            subscriptions = []
            bridge = try await BridgeHost.inMemory(
                publisher,
                workers: [
                    InMemoryWorker("provisioning", subscribes: Self.requests) { publisher in
                        try Provisioning.start(publisher: publisher, store: store)
                    }
                ]
            )
        case .worker:
            subscriptions = []
            let host = try BridgeHost(
                publisher: publisher,
                workers: [
                    WorkerSpecification(
                        "provisioning",
                        executable: .beside("provisioning-worker"),
                        arguments: ["--store", store],
                        environment: workerEnvironment,
                        subscribes: Self.requests,
                        handshakeTimeout: patience,
                        heartbeat: Heartbeat(every: .seconds(60)),
                        shutdown: .draining(grace: patience, terminate: patience)
                    )
                ]
            )
            try await host.start()
            bridge = host
        }
    }

    func shutdown() async {
        await bridge?.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }
}
