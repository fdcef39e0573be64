import DomainEvents
import DomainEventsFoundation
import EventBridgeTesting
import Foundation
import TestSupport
import Testing

private struct ShelfProvisioned: DomainEvent, Equatable { let number: Int64 }
private struct ShelfRemoved: DomainEvent, Equatable { let number: Int64 }
private struct ShelfOrdered: DomainEvent, Equatable { let number: Int64 }

@Suite("Observers and typed subscribers meet", .timeLimit(.minutes(5)))
struct NotificationAdapterTests {
    private let scene = Scene()

    @Test func anObserverGetsWhatIsPublished() async throws {
        let seen = scene.observe("ShelfProvisioned")
        scene.adapter.post(ShelfProvisioned.self)
        scene.publisher.publish(ShelfProvisioned(number: 7))
        try await scene.waitForPosts()
        #expect(seen.all.map { $0["number", as: Int64.self] } == [7])
        #expect(seen.all.first?.posted?.context.id.number == 1)
    }

    @Test func aSubscriberGetsWhatIsPosted() {
        let recorder = EventRecorder(scene.publisher, for: ShelfProvisioned.self)
        scene.adapter.publish(ShelfProvisioned.self)
        scene.post("ShelfProvisioned", ["number": 7])
        #expect(recorder.events(ShelfProvisioned.self) == [ShelfProvisioned(number: 7)])
    }

    @Test func underAnotherName() async throws {
        let recorder = EventRecorder(scene.publisher, for: ShelfProvisioned.self)
        let seen = scene.observe("Box ShelfProvisioned Event")
        scene.adapter.exchange(ShelfProvisioned.self, as: Notification.Name("Box ShelfProvisioned Event"))
        scene.publisher.publish(ShelfProvisioned(number: 1))
        try await scene.waitForPosts()
        scene.post("Box ShelfProvisioned Event", ["number": 2])
        scene.post("ShelfProvisioned", ["number": 3])
        #expect(seen.all.map { $0["number", as: Int64.self] ?? -1 } == [1, -1])
        #expect(recorder.events(ShelfProvisioned.self).map(\.number) == [1, 2])
    }

    @Test func eventsOfSeveralTypesArePostedInTheOrderInWhichTheyWerePublished() async throws {
        let names = Collected<String>()
        for name in ["ShelfProvisioned", "ShelfRemoved"] {
            _ = scene.center.addObserver(forName: Notification.Name(name), object: nil, queue: nil) { notification in
                names.add("\(name) \(notification.userInfo?["number"] ?? "?")")
            }
        }
        scene.adapter.post(ShelfProvisioned.self)
        scene.adapter.post(ShelfRemoved.self)
        for number in 0..<500 as Range<Int64> {
            scene.publisher.publish(ShelfProvisioned(number: number))
            scene.publisher.publish(ShelfRemoved(number: number))
        }
        try await scene.waitForPosts()
        #expect(names.all == (0..<500).flatMap { ["ShelfProvisioned \($0)", "ShelfRemoved \($0)"] })
    }

    @Test func whatIsPostedIsPublishedInThatOrder() {
        let recorder = EventRecorder(scene.publisher, for: ShelfProvisioned.self, ShelfRemoved.self)
        scene.adapter.publish(ShelfProvisioned.self)
        scene.adapter.publish(ShelfRemoved.self)
        for number in 0..<100 {
            scene.post(number.isMultiple(of: 2) ? "ShelfProvisioned" : "ShelfRemoved", ["number": number])
        }
        let numbers = recorder.all.map { ($0 as? ShelfProvisioned)?.number ?? ($0 as? ShelfRemoved)?.number }
        #expect(numbers == (0..<100).map { Int64($0) })
    }

    /// On Linux, posting waits until the observer's queue has run everything; here the queue runs nothing before the
    /// test says so.
    @Test func publishingDoesNotWaitForAnObserverThatHangs() async throws {
        let numbers = Collected<Int64>()
        let queue = OperationQueue()
        queue.isSuspended = true
        _ = scene.center.addObserver(forName: Notification.Name("ShelfProvisioned"), object: nil, queue: queue) {
            notification in
            numbers.add(notification.userInfo?["number"] as? Int64 ?? -1)
        }
        scene.adapter.post(ShelfProvisioned.self)
        for number in 0..<10 as Range<Int64> { scene.publisher.publish(ShelfProvisioned(number: number)) }
        #expect(numbers.all.isEmpty)
        queue.isSuspended = false
        try await scene.waitForPosts()
        #expect(numbers.all == Array(0..<10))
    }

    @Test func aTypeThatIsAddedTwiceComesOnce() async throws {
        let seen = scene.observe("ShelfProvisioned")
        let recorder = EventRecorder(scene.publisher, for: ShelfProvisioned.self)
        for _ in 0..<3 { scene.adapter.exchange(ShelfProvisioned.self) }
        scene.publisher.publish(ShelfProvisioned(number: 1))
        try await scene.waitForPosts()
        #expect(seen.all.count == 1)
        scene.post("ShelfProvisioned", ["number": 2])
        #expect(recorder.events(ShelfProvisioned.self).map(\.number) == [1, 2])
    }

    @Test func whatAnObserverPublishesIsCausedByTheEventThatItGot() async throws {
        _ = scene.center.addObserver(
            forName: Notification.Name("ShelfOrdered"),
            object: nil,
            queue: nil
        ) { [publisher = scene.publisher] notification in
            publisher.publish(ShelfProvisioned(number: notification.userInfo?["number"] as? Int64 ?? -1))
        }
        scene.adapter.post(ShelfOrdered.self)
        let answer = try await scene.publisher.request(
            ShelfOrdered(number: 5),
            awaiting: ShelfProvisioned.self,
            within: .seconds(30)
        )
        #expect(answer == ShelfProvisioned(number: 5))
    }

    @Test func aRequestIsAnsweredByAnObserverThatPosts() async throws {
        _ = scene.center.addObserver(
            forName: Notification.Name("ShelfOrdered"),
            object: nil,
            queue: nil
        ) { [center = scene.center] notification in
            center.post(name: Notification.Name("ShelfProvisioned"), object: nil, userInfo: notification.userInfo)
        }
        scene.adapter.post(ShelfOrdered.self)
        scene.adapter.publish(ShelfProvisioned.self)
        let answer = try await scene.publisher.request(
            ShelfOrdered(number: 5),
            awaiting: ShelfProvisioned.self,
            within: .seconds(30)
        )
        #expect(answer == ShelfProvisioned(number: 5))
    }

    @Test func untilTheAdapterIsCancelled() async throws {
        let seen = scene.observe("ShelfProvisioned")
        let recorder = EventRecorder(scene.publisher, for: ShelfProvisioned.self)
        scene.adapter.exchange(ShelfProvisioned.self)
        scene.adapter.cancel()
        scene.adapter.exchange(ShelfRemoved.self)
        #expect(!scene.publisher.isWanted("ShelfRemoved"))
        scene.publisher.publish(ShelfProvisioned(number: 1))
        scene.post("ShelfProvisioned", ["number": 2])
        try await scene.waitForPosts()
        #expect(seen.all.count == 1)
        #expect(recorder.events(ShelfProvisioned.self).map(\.number) == [1])
    }

    @Test func untilTheAdapterIsReleasedAndNothingIsKeptAlive() {
        let center = NotificationCenter()
        weak var released: EventPublisher?
        do {
            let publisher = EventPublisher()
            released = publisher
            let adapter = NotificationAdapter(publisher, center: center) { _ in }
            adapter.exchange(ShelfProvisioned.self)
            #expect(publisher.isWanted("ShelfProvisioned"))
            withExtendedLifetime(adapter) {}
        }
        #expect(released == nil)
        center.post(name: Notification.Name("ShelfProvisioned"), object: nil, userInfo: ["number": 1])
    }
}
