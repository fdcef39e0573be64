import DomainEvents
import ExampleDomain
import ExampleServices
import Testing

@Suite("A request that comes again is done once and answered again")
struct RedeliveryTests {
    private let scene: Scene
    private let order = BoxOrdered(label: "Books", capacity: 5)

    init() throws {
        scene = try Scene()
    }

    private func id(_ number: UInt64, origin: String = "host", incarnation: UInt64 = .max) -> EventID {
        EventID(origin: origin, incarnation: incarnation, number: number)
    }

    private func boxIDs(_ answers: [any DomainEvent]) -> [BoxID] {
        answers.compactMap { ($0 as? BoxProvisioned)?.boxID }
    }

    @Test("The second answer is the first one, and there is one box")
    func answersTwice() throws {
        let first = scene.deliver(order, id: id(1))
        let second = scene.deliver(order, id: id(1))
        #expect(boxIDs(first).count == 1)
        #expect(boxIDs(first) == boxIDs(second))
        let box = try #require(boxIDs(first).first)
        #expect(scene.publish(BoxRemovalRequested(boxID: box)).first is BoxRemoved)
        #expect(scene.publish(ItemReceived(title: "Atlas")).first is ItemDistributionFailed)
    }

    @Test("A worker that was restarted on the same store remembers")
    func remembersAcrossRestarts() throws {
        let first = scene.deliver(order, id: id(1))
        let successor = try Scene(in: scene.directory)
        #expect(boxIDs(successor.deliver(order, id: id(1))) == boxIDs(first))
        #expect(boxIDs(successor.deliver(order, id: id(2))) != boxIDs(first))
    }

    @Test("A worker that was started beside the one before it remembers what that one has done since")
    func remembersAcrossReplacement() throws {
        let successor = try Scene(in: scene.directory)
        let first = scene.deliver(order, id: id(1))
        #expect(boxIDs(first).count == 1)
        #expect(boxIDs(successor.deliver(order, id: id(1))) == boxIDs(first))
    }

    @Test("All answers of a removal come again, in order")
    func repeatsAllAnswers() throws {
        scene.box(1)
        scene.items(1...2)
        scene.box(2)
        let first = scene.deliver(BoxRemovalRequested(boxID: BoxID(1)), id: id(1000))
        let second = scene.deliver(BoxRemovalRequested(boxID: BoxID(1)), id: id(1000))
        #expect(first.map { "\($0)" } == second.map { "\($0)" })
        #expect(second.map { type(of: $0).eventName } == ["ItemMoved", "ItemMoved", "BoxRemoved"])
    }

    @Test("A failure stands, though the request would succeed by now")
    func repeatsFailure() throws {
        #expect(scene.deliver(ItemReceived(title: "Atlas"), id: id(1)).first is ItemDistributionFailed)
        _ = scene.deliver(order, id: id(2))
        #expect(scene.deliver(ItemReceived(title: "Atlas"), id: id(1)).first is ItemDistributionFailed)
        #expect(scene.deliver(ItemReceived(title: "Atlas"), id: id(3)).first is ItemProvisioned)
    }

    @Test("N4: the first request of a host that was restarted is done, though its number was seen before")
    func newHostIsNotTakenForTheOld() throws {
        let first = scene.deliver(order, id: id(1, incarnation: 1))
        let second = scene.deliver(order, id: id(1, incarnation: 2))
        #expect(boxIDs(second).count == 1)
        #expect(boxIDs(first) != boxIDs(second))
    }

    @Test("Settled events are forgotten, of the same start of the same origin only")
    func forgetsSettled() throws {
        let others = [id(1, origin: "canvas", incarnation: 1), id(1, origin: "canvas", incarnation: 2)]
        var handled = HandledEvents()
        for other in others { handled.remember([], of: context(other)) }
        for number in 1...3 as ClosedRange<UInt64> { handled.remember([], of: context(id(number))) }
        handled.remember([], of: context(id(4), settledBelow: 3))
        #expect(handled.outcomes(of: id(2)) == nil)
        #expect(handled.outcomes(of: id(3)) != nil)
        handled.remember([], of: context(id(2, origin: "canvas", incarnation: 2), settledBelow: 2))
        #expect(handled.outcomes(of: others[0]) != nil)
        #expect(handled.outcomes(of: others[1]) == nil)
    }

    @Test("J23: what an earlier start of the host or of a worker had sent is not forgotten for a later start's events")
    func keepsEarlierStarts() throws {
        for origin in ["host", "canvas"] {
            var handled = HandledEvents()
            for incarnation in 1...3 as ClosedRange<UInt64> {
                let event = id(1, origin: origin, incarnation: incarnation)
                handled.remember([], of: context(event, settledBelow: 1))
            }
            // A host that takes up what the first one owed sends its event after those of its own time.
            for incarnation in 1...3 as ClosedRange<UInt64> {
                #expect(handled.outcomes(of: id(1, origin: origin, incarnation: incarnation)) != nil)
            }
        }
    }

    @Test("More than the limit is never remembered, and the newest are")
    func remembersNewestUpToLimit() throws {
        var handled = HandledEvents()
        for number in 1...20 as ClosedRange<UInt64> { handled.remember([], of: context(id(number)), limit: 10) }
        #expect(handled.records.count == 10)
        #expect(handled.outcomes(of: id(10)) == nil)
        #expect(handled.outcomes(of: id(11)) != nil)
        #expect(handled.outcomes(of: id(20)) != nil)
    }

    private func context(_ id: EventID, settledBelow: UInt64? = nil) -> EventContext {
        EventContext(id: id, nanosecondsSinceEpoch: 0, settledBelow: settledBelow)
    }
}
