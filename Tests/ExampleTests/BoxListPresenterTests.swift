import Dispatch
import DomainEvents
import ExampleDomain
import Testing

@Suite("The presenter shows what events tell, and requests nothing")
struct BoxListPresenterTests {
    private let publisher = EventPublisher()

    @Test("Boxes and items appear, move and go as provisioning tells, in one process")
    func followsProvisioning() throws {
        let scene = try Scene()
        let presenter = BoxListPresenter(publisher: scene.publisher)
        scene.box(1)
        scene.items(1...2)
        scene.box(2)
        scene.items(3...3)
        #expect(presenter.state.map(\.boxID.rawValue) == [1, 2])
        #expect(presenter.state.map { $0.items.map(\.title) } == [["Item 1", "Item 2"], ["Item 3"]])
        _ = scene.publish(BoxRemovalRequested(boxID: BoxID(1)))
        #expect(presenter.state.map(\.label) == ["Box 2"])
        #expect(presenter.state.first?.items.map(\.itemID.rawValue) == [1, 2, 3])
        _ = scene.publish(ItemRemovalRequested(itemID: ItemID(2), boxID: BoxID(2)))
        #expect(presenter.state.first?.items.map(\.itemID.rawValue) == [1, 3])
        #expect(presenter.list.notices.isEmpty)
    }

    @Test("Failures become notices and change nothing else")
    func showsFailures() throws {
        let scene = try Scene()
        let presenter = BoxListPresenter(publisher: scene.publisher)
        _ = scene.publish(BoxOrdered(label: "Piano", capacity: 7))
        _ = scene.publish(ItemReceived(title: "Doormat"))
        scene.box(1)
        scene.items(1...1)
        let before = presenter.state
        _ = scene.publish(BoxRemovalRequested(boxID: BoxID(1)))
        _ = scene.publish(ItemRemovalRequested(itemID: ItemID(9), boxID: BoxID(1)))
        #expect(presenter.state == before)
        #expect(
            presenter.list.notices == [
                "The box \"Piano\" was not provisioned: a box holds 5, 10 or 20 items; 7 was ordered",
                "The item \"Doormat\" found no box: there is no box",
                "The items of box 1 stay: its 1 items do not fit into the other boxes, which have room for 0",
                "The box 1 was not removed: its 1 items do not fit into the other boxes, which have room for 0",
                "The item 9 was not removed: it does not lie in box 1",
            ]
        )
    }

    @Test("Events that a restarted worker publishes again change nothing")
    func toleratesRepetition() throws {
        let presenter = BoxListPresenter(publisher: publisher)
        for _ in 1...2 {
            publisher.publish(BoxProvisioned(boxID: BoxID(1), label: "Books", capacity: 5))
            publisher.publish(BoxProvisioned(boxID: BoxID(2), label: "Tools", capacity: 5))
            publisher.publish(ItemProvisioned(itemID: ItemID(1), boxID: BoxID(1), title: "Atlas"))
            publisher.publish(ItemMoved(itemID: ItemID(1), from: BoxID(1), to: BoxID(2)))
            publisher.publish(BoxRemoved(boxID: BoxID(1)))
        }
        #expect(presenter.state.map(\.boxID) == [BoxID(2)])
        #expect(presenter.state.first?.items == [BoxList.Item(itemID: ItemID(1), title: "Atlas")])
    }

    @Test("An item that is announced before its box appears with the box")
    func toleratesDisorder() throws {
        let presenter = BoxListPresenter(publisher: publisher)
        publisher.publish(ItemProvisioned(itemID: ItemID(1), boxID: BoxID(1), title: "Atlas"))
        #expect(presenter.state.isEmpty)
        publisher.publish(BoxProvisioned(boxID: BoxID(1), label: "Books", capacity: 5))
        #expect(presenter.state.first?.items.count == 1)
    }

    @Test("Waiting ends when the list looks as expected", .timeLimit(.minutes(5)))
    func waitsForList() async throws {
        let presenter = BoxListPresenter(publisher: publisher)
        let publisher = publisher
        DispatchQueue.global().async {
            for id in 1...100 as ClosedRange<Int64> {
                publisher.publish(BoxProvisioned(boxID: BoxID(id), label: "", capacity: 5))
            }
        }
        let list = try await presenter.list { $0.rows.count == 100 }
        #expect(list.rows.last?.boxID == BoxID(100))
    }

    @Test("Waiting ends when the task is cancelled", .timeLimit(.minutes(5)))
    func waitingIsCancelled() async throws {
        let presenter = BoxListPresenter(publisher: publisher)
        let task = Task { try await presenter.list { _ in false } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("A presenter that was released hears nothing more")
    func endsWithRelease() throws {
        var presenter: BoxListPresenter? = BoxListPresenter(publisher: publisher)
        #expect(presenter?.state.isEmpty == true)
        #expect(publisher.isWanted("BoxProvisioned"))
        presenter = nil
        #expect(!publisher.isWanted("BoxProvisioned"))
    }
}
