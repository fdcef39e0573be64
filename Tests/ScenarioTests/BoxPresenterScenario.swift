import DomainEvents
import ExampleDomain
import Testing

/// The screen that the presenter writes to and the tests read.
@MainActor
private final class ListView {
    var lines: [String] = []
}

/// Keeps a list of boxes on the screen by listening alone, without asking a repository.
@MainActor
private final class BoxesOnScreen {
    private let view: ListView
    private var boxes: [BoxID: (label: String, titles: [String])] = [:]
    private var order: [BoxID] = []
    private var subscriptions: Set<Subscription> = []

    init(view: ListView, publisher: EventPublisher) {
        self.view = view
        publisher.subscribe(to: BoxProvisioned.self, on: .main) { [weak self] in self?.show($0) }.store(
            in: &subscriptions
        )
        publisher.subscribe(to: ItemProvisioned.self, on: .main) { [weak self] in self?.show($0) }.store(
            in: &subscriptions
        )
        publisher.subscribe(to: BoxRemoved.self, on: .main) { [weak self] in self?.hide($0) }.store(in: &subscriptions)
    }

    private func show(_ event: BoxProvisioned) {
        boxes[event.boxID] = (event.label, [])
        order.append(event.boxID)
        draw()
    }

    private func show(_ event: ItemProvisioned) {
        boxes[event.boxID]?.titles.append(event.title)
        draw()
    }

    private func hide(_ event: BoxRemoved) {
        boxes[event.boxID] = nil
        order.removeAll { $0 == event.boxID }
        draw()
    }

    private func draw() {
        view.lines = order.compactMap { id in
            boxes[id].map { "\(id) \($0.label): \($0.titles.joined(separator: ", "))" }
        }
    }
}

@MainActor
@Suite("Scenario: a presenter shows boxes from events alone", .timeLimit(.minutes(5)))
struct BoxPresenterScenario {
    private let publisher = EventPublisher()
    private let view = ListView()

    /// Larger than a floating-point number can tell from its neighbour.
    private static let large = BoxID(.max - 1)

    @Test func itShowsBoxesAndTheirItemsUnderTheItemsOwnTitles() async throws {
        let presenter = BoxesOnScreen(view: view, publisher: publisher)
        publisher.publish(BoxProvisioned(boxID: Self.large, label: "Books", capacity: 5))
        publisher.publish(ItemProvisioned(itemID: ItemID(1), boxID: Self.large, title: "Atlas"))
        publisher.publish(ItemProvisioned(itemID: ItemID(2), boxID: Self.large, title: "Novel"))
        publisher.publish(ItemProvisioned(itemID: ItemID(3), boxID: BoxID(.max), title: "in no box that it knows"))
        try await publisher.deliver(BoxProvisioned(boxID: BoxID(2), label: "Toys", capacity: 5), within: .seconds(50))
        #expect(view.lines == ["9223372036854775806 Books: Atlas, Novel", "2 Toys: "])
        withExtendedLifetime(presenter) {}
    }

    /// A box that is provisioned and removed again is never shown after its removal: events of different types keep
    /// their order.
    @Test func itKeepsTheOrderOfEventsOfDifferentTypes() async throws {
        let presenter = BoxesOnScreen(view: view, publisher: publisher)
        for number in 1...200 as ClosedRange<Int64> {
            publisher.publish(BoxProvisioned(boxID: BoxID(number), label: "B", capacity: 5))
            publisher.publish(BoxRemoved(boxID: BoxID(number)))
        }
        try await publisher.deliver(BoxRemoved(boxID: BoxID(0)), within: .seconds(50))
        #expect(view.lines.isEmpty)
        withExtendedLifetime(presenter) {}
    }

    @Test func onceItIsGoneTheViewStaysAsItIs() async throws {
        var presenter: BoxesOnScreen? = BoxesOnScreen(view: view, publisher: publisher)
        try await publisher.deliver(BoxProvisioned(boxID: BoxID(1), label: "A", capacity: 5), within: .seconds(50))
        // Published before the presenter is released, and still on its way to the main actor then.
        publisher.publish(BoxProvisioned(boxID: BoxID(2), label: "B", capacity: 5))
        withExtendedLifetime(presenter) {}
        presenter = nil
        await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(BoxRemoved(boxID: BoxID(1)), within: .seconds(50))
        }
        #expect(view.lines == ["1 A: "])
    }
}
