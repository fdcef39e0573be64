import Dispatch
import DomainEvents
import ExampleDomain
import Testing

@Suite("Provisioning answers every request")
struct ProvisioningTests {
    private let scene: Scene

    init() throws {
        scene = try Scene()
    }

    @Test("A box of each capacity is provisioned with a positive id of its own", arguments: [5, 10, 20])
    func provisionsBox(capacity: Int) throws {
        let first = try #require(scene.publish(BoxOrdered(label: "Books", capacity: capacity)).first as? BoxProvisioned)
        let second = try #require(
            scene.publish(BoxOrdered(label: "Books", capacity: capacity)).first as? BoxProvisioned
        )
        #expect(first.label == "Books")
        #expect(first.capacity == capacity)
        #expect(first.boxID.rawValue > 0)
        #expect(second.boxID != first.boxID)
    }

    @Test("A capacity that no box has is answered with a failure", arguments: [0, 4, 7, -5, .max, .min])
    func refusesCapacity(capacity: Int) throws {
        let answers = scene.publish(BoxOrdered(label: "Piano", capacity: capacity))
        let answer = try #require(answers.first as? BoxProvisioningFailed)
        #expect(answers.count == 1)
        #expect(answer.label == "Piano")
        #expect(answer.capacity == capacity)
        #expect(answer.reason == "a box holds 5, 10 or 20 items; \(capacity) was ordered")
    }

    @Test("A box gets the id that was ordered, also beyond 2^53 and up to the greatest")
    func takesOrderedIDs() throws {
        for id in [Int64(1) << 53 + 1, .max] {
            let answer = scene.publish(BoxOrdered(label: "", capacity: 5, boxID: BoxID(id))).first as? BoxProvisioned
            #expect(answer?.boxID.rawValue == id)
        }
    }

    @Test("An ordered id that is taken or not positive is answered with a failure", arguments: [1, 0, -1, Int64.min])
    func refusesID(id: Int64) throws {
        scene.box(1)
        let answers = scene.publish(BoxOrdered(label: "Twin", capacity: 5, boxID: BoxID(id)))
        #expect((answers.first as? BoxProvisioningFailed)?.reason.contains("\(id)") == true)
        #expect(answers.count == 1)
    }

    @Test("An item without any box, or with full boxes only, is answered with a failure")
    func refusesItem() throws {
        let lonely = scene.publish(ItemReceived(title: "Doormat")).first as? ItemDistributionFailed
        #expect(lonely?.title == "Doormat")
        #expect(lonely?.reason == "there is no box")
        scene.box(1)
        scene.items(1...5)
        let late = scene.publish(ItemReceived(title: "Umbrella")).first as? ItemDistributionFailed
        #expect(late?.reason == "all boxes are full, 1 of them")
    }

    @Test("An item goes to the box with room and the fewest items, of several to the one that was made first")
    func choosesEmptiestBox() throws {
        scene.box(1, capacity: 5)
        scene.box(2, capacity: 10)
        for id in 1...12 as ClosedRange<Int64> {
            let answer = scene.publish(ItemReceived(title: "\(id)", itemID: ItemID(id))).first as? ItemProvisioned
            // The boxes take turns until the small one is full.
            #expect(answer?.boxID == (id <= 10 && id % 2 == 1 ? BoxID(1) : BoxID(2)))
        }
    }

    @Test("An item's answer carries the item's title, not the box's label")
    func answersWithItemsTitle() throws {
        _ = scene.publish(BoxOrdered(label: "Books", capacity: 5))
        #expect((scene.publish(ItemReceived(title: "Atlas")).first as? ItemProvisioned)?.title == "Atlas")
    }

    @Test("An item's id that is taken or not positive is answered with a failure", arguments: [1, 0, -7] as [Int64])
    func refusesItemID(id: Int64) throws {
        scene.box(1)
        scene.items(1...1)
        let answers = scene.publish(ItemReceived(title: "Twin", itemID: ItemID(id)))
        #expect((answers.first as? ItemDistributionFailed)?.reason.contains("\(id)") == true)
    }

    @Test("Removing a box spreads its items over the others, and tells of each move before the removal")
    func removesBox() throws {
        scene.box(1)
        scene.items(1...3)
        scene.box(2)
        scene.box(3)
        let answers = scene.publish(BoxRemovalRequested(boxID: BoxID(1)))
        let moves = answers.compactMap { $0 as? ItemMoved }
        #expect(answers.count == 4)
        #expect(moves.map(\.itemID.rawValue) == [1, 2, 3])
        #expect(moves.map(\.from.rawValue) == [1, 1, 1])
        #expect(moves.map(\.to.rawValue) == [2, 3, 2])
        #expect((answers.last as? BoxRemoved)?.boxID == BoxID(1))
        let removed = scene.publish(ItemRemovalRequested(itemID: ItemID(3), boxID: BoxID(2))).first
        #expect(removed is ItemRemoved)
    }

    @Test("An empty box is removed at once, also the last one")
    func removesEmptyBox() throws {
        scene.box(1)
        let answers = scene.publish(BoxRemovalRequested(boxID: BoxID(1)))
        #expect(answers.count == 1)
        #expect(answers.first is BoxRemoved)
    }

    @Test("If the items do not all fit, none is moved, and two failures say so in order")
    func keepsBoxWhoseItemsDoNotFit() throws {
        scene.box(1)
        scene.items(1...5)
        scene.box(2)
        scene.items(6...6)
        let answers = scene.publish(BoxRemovalRequested(boxID: BoxID(1)))
        #expect(answers.map { type(of: $0).eventName } == ["BoxItemsRedistributionFailed", "BoxRemovalFailed"])
        let reason = "its 5 items do not fit into the other boxes, which have room for 4"
        #expect((answers.last as? BoxRemovalFailed)?.reason == reason)
        for id in 1...5 as ClosedRange<Int64> {
            #expect(scene.publish(ItemRemovalRequested(itemID: ItemID(id), boxID: BoxID(1))).first is ItemRemoved)
        }
    }

    @Test("Removing a box that is not there is answered with one failure")
    func refusesUnknownBox() throws {
        let answers = scene.publish(BoxRemovalRequested(boxID: BoxID(.max)))
        #expect(answers.count == 1)
        #expect((answers.first as? BoxRemovalFailed)?.boxID == BoxID(.max))
    }

    @Test("An item is removed once; from the wrong box or a second time it is a failure")
    func removesItem() throws {
        scene.box(1)
        scene.items(1...1)
        scene.box(2)
        let wrong = scene.publish(ItemRemovalRequested(itemID: ItemID(1), boxID: BoxID(2))).first as? ItemRemovalFailed
        #expect(wrong?.reason == "it does not lie in box 2")
        #expect(scene.publish(ItemRemovalRequested(itemID: ItemID(1), boxID: BoxID(1))).first is ItemRemoved)
        #expect(scene.publish(ItemRemovalRequested(itemID: ItemID(1), boxID: BoxID(1))).first is ItemRemovalFailed)
        #expect(scene.publish(ItemRemovalRequested(itemID: ItemID(1), boxID: BoxID(3))).first is ItemRemovalFailed)
    }

    @Test("Text that is too long is answered with a failure in the same process too")
    func refusesLongText() throws {
        let text = String(repeating: "a", count: 4097)
        let reason = "has 4097 characters; at most 4096 are allowed"
        let box = scene.publish(BoxOrdered(label: text, capacity: 5)).first as? BoxProvisioningFailed
        #expect(box?.reason == "label \(reason)")
        scene.box(1)
        let item = scene.publish(ItemReceived(title: text)).first as? ItemDistributionFailed
        #expect(item?.reason == "title \(reason)")
        #expect(scene.publish(ItemReceived(title: String(text.dropLast()))).first is ItemProvisioned)
    }

    @Test(
        "Requests of several threads are each answered once and leave a store that can be loaded",
        .timeLimit(.minutes(5))
    )
    func answersSeveralThreads() throws {
        let scene = scene
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<5 {
                scene.publisher.publish(BoxOrdered(label: "\(thread)", capacity: 5))
                scene.publisher.publish(ItemReceived(title: "\(thread)-\(number)"))
            }
        }
        #expect(scene.recorder.all(BoxProvisioned.self).count == 40)
        #expect(scene.recorder.all(ItemProvisioned.self).count == 40)
        let next = try Scene(in: scene.directory)
        for item in scene.recorder.all(ItemProvisioned.self) {
            let answer = next.publish(ItemRemovalRequested(itemID: item.itemID, boxID: item.boxID)).first
            #expect(answer is ItemRemoved)
        }
    }
}
