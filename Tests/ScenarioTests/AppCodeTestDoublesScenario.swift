import DomainEvents
import EventBridgeTesting
import ExampleDomain
import Testing

/// A service of an application, as its tests use it: it gets a publisher and does not know which.
private struct BoxService {
    let publisher: EventPublisher
    var rooms: [BoxID: (items: [ItemID], capacity: Int)] = [:]

    mutating func order(label: String, capacity: Int, id: BoxID) {
        guard [5, 10, 20].contains(capacity) else {
            publisher.publish(
                BoxProvisioningFailed(label: label, capacity: capacity, reason: "a box holds 5, 10 or 20 items")
            )
            return
        }
        rooms[id] = ([], capacity)
        publisher.publish(BoxProvisioned(boxID: id, label: label, capacity: capacity))
    }

    mutating func put(_ item: ItemID, titled title: String, into box: BoxID) {
        guard let room = rooms[box], room.items.count < room.capacity else {
            publisher.publish(ItemDistributionFailed(title: title, reason: "box \(box) has no room"))
            return
        }
        rooms[box]?.items.append(item)
        publisher.publish(ItemProvisioned(itemID: item, boxID: box, title: title))
    }

    mutating func dissolve(_ box: BoxID) {
        guard let items = rooms[box]?.items else {
            publisher.publish(BoxRemovalFailed(boxID: box, reason: "there is no such box"))
            return
        }
        let others = rooms.filter { $0.key != box && $0.value.items.count + items.count <= $0.value.capacity }
        guard items.isEmpty || !others.isEmpty else {
            publisher.publish(BoxItemsRedistributionFailed(boxID: box, reason: "no other box has room"))
            publisher.publish(BoxRemovalFailed(boxID: box, reason: "its items have no place"))
            return
        }
        if let target = others.keys.min(by: { $0.rawValue < $1.rawValue }) {
            for item in items {
                rooms[target]?.items.append(item)
                publisher.publish(ItemMoved(itemID: item, from: box, to: target))
            }
        }
        rooms[box] = nil
        publisher.publish(BoxRemoved(boxID: box))
    }
}

@Suite("Scenario: an application's own tests put a mock or a null publisher in the place of the real one")
struct AppCodeTestDoublesScenario {
    private static let id = BoxID(1 << 53 + 1)

    /// A mock that keeps only the last event would not see the first of the two.
    @Test func theMockTellsOrderAndNumberOfEvents() {
        let mock = EventRecorder()
        var service = BoxService(publisher: mock.publisher)
        service.order(label: "A", capacity: 5, id: Self.id)
        service.put(ItemID(.max), titled: "Atlas", into: Self.id)
        service.dissolve(Self.id)
        #expect(
            mock.names == ["BoxProvisioned", "ItemProvisioned", "BoxItemsRedistributionFailed", "BoxRemovalFailed"]
        )
        #expect(mock.events(BoxRemovalFailed.self).map(\.boxID) == [Self.id])
    }

    /// The title is the item's, not the box's; the identifiers keep every bit.
    @Test func theMockHasTheWholeContent() {
        let mock = EventRecorder()
        var service = BoxService(publisher: mock.publisher)
        service.order(label: "A", capacity: 5, id: Self.id)
        service.put(ItemID(.max), titled: "Atlas", into: Self.id)
        let event = mock.events(ItemProvisioned.self).first
        #expect(event?.title == "Atlas")
        #expect(event?.itemID.rawValue == 9_223_372_036_854_775_807)
        #expect(event?.boxID.rawValue == 9_007_199_254_740_993)
    }

    @Test("Every command has an outcome, also one that cannot be met")
    func everyCommandHasAnOutcome() {
        let commands: [(inout BoxService) -> Void] = [
            { $0.order(label: "A", capacity: 5, id: BoxID(1)) }, { $0.order(label: "A", capacity: 7, id: BoxID(1)) },
            { $0.put(ItemID(1), titled: "T", into: BoxID(1)) }, { $0.dissolve(BoxID(1)) },
        ]
        for command in commands {
            let mock = EventRecorder()
            var service = BoxService(publisher: mock.publisher)
            command(&service)
            #expect(mock.all.count == 1)
        }
    }

    @Test func theNullPublisherSilencesWhatATestIsNotAbout() {
        let publisher = EventPublisher.null()
        let subscription = publisher.subscribe(to: BoxProvisioned.self) { Issue.record("\($0) was delivered") }
        var service = BoxService(publisher: publisher)
        service.order(label: "A", capacity: 10, id: Self.id)
        #expect(service.rooms[Self.id]?.capacity == 10)
        withExtendedLifetime(subscription) {}
    }

    @Test func codeThatUsesTheSharedPublisherGetsTheMock() {
        let mock = EventRecorder()
        EventPublisher.withShared(mock.publisher) {
            var service = BoxService(publisher: .shared)
            service.dissolve(BoxID(1))
        }
        #expect(mock.names == ["BoxRemovalFailed"])
    }

    /// A renamed type would rename the event for every peer and every observer of its notification.
    @Test func theNamesOfTheEventsArePinned() {
        let mock = EventRecorder()
        mock.publisher.publish(BoxProvisioned(boxID: BoxID(1), label: "A", capacity: 5))
        mock.publisher.publish(BoxProvisioningFailed(label: "A", capacity: 7, reason: "R"))
        mock.publisher.publish(ItemRemovalFailed(itemID: ItemID(1), boxID: BoxID(1), reason: "R"))
        mock.publisher.publish(ItemDistributionFailed(title: "T", reason: "R"))
        #expect(
            mock.names == ["BoxProvisioned", "BoxProvisioningFailed", "ItemRemovalFailed", "ItemDistributionFailed"]
        )
    }
}
