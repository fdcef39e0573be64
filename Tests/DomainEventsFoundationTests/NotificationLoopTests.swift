import DomainEvents
import DomainEventsFoundation
import EventBridgeTesting
import Foundation
import TestSupport
import Testing

private struct WheelTurned: DomainEvent, Equatable { let number: Int }
private struct WheelAnswered: DomainEvent { let number: Int }

/// A publisher with a recorder, and an adapter for each center that it is connected to.
private final class Station: Sendable {
    let publisher = EventPublisher()
    let recorder: EventRecorder
    let strand: PostingStrand
    private let adapters: [NotificationAdapter]

    init(_ centers: NotificationCenter..., adaptersEach: Int = 1) {
        recorder = EventRecorder(publisher, for: WheelTurned.self)
        let queue = DispatchQueue(label: "posting")
        strand = PostingStrand(publisher, queue)
        let publisher = publisher
        adapters = centers.flatMap { center in
            (0..<adaptersEach).map { _ in
                let adapter = NotificationAdapter(publisher, center: center, postingOn: .queue(queue)) { error in
                    Issue.record(error)
                }
                adapter.exchange(WheelTurned.self)
                return adapter
            }
        }
    }

    var numbers: [Int] { recorder.events(WheelTurned.self).map(\.number) }
}

@Suite("Nothing goes round in circles", .timeLimit(.minutes(5)))
struct NotificationLoopTests {
    private let center = NotificationCenter()

    private func observe(_ center: NotificationCenter) -> Collected<Int> {
        let log = Collected<Int>()
        _ = center.addObserver(forName: Notification.Name("WheelTurned"), object: nil, queue: nil) { notification in
            log.add(notification.userInfo?["number"] as? Int ?? -1)
        }
        return log
    }

    private func post(_ number: Int, to center: NotificationCenter) {
        center.post(name: Notification.Name("WheelTurned"), object: nil, userInfo: ["number": number])
    }

    /// Waits long enough for a loop to show: each station would post the events that the other has just published.
    private func settle(_ stations: Station...) async throws {
        for _ in 0..<4 { for station in stations { try await station.strand.wait() } }
    }

    @Test func throughOneAdapter() async throws {
        let seen = observe(center)
        let station = Station(center)
        station.publisher.publish(WheelTurned(number: 1))
        try await settle(station)
        post(2, to: center)
        try await settle(station)
        #expect(station.numbers == [1, 2])
        #expect(seen.all == [1, 2])
    }

    @Test func throughTwoAdaptersOfOnePublisher() async throws {
        let seen = observe(center)
        let station = Station(center, adaptersEach: 2)
        station.publisher.publish(WheelTurned(number: 1))
        try await settle(station)
        #expect(station.numbers == [1])
        // Each of the two adapters posts the event.
        #expect(seen.all == [1, 1])
    }

    @Test func butTheTraceGoesAlong() async throws {
        let trace = try #require(Traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        let (near, far) = (Station(center), Station(center))
        let traces = Collected<Traceparent?>()
        let subscription = far.publisher.subscribe(to: WheelTurned.self) { _ in
            traces.add(EventContext.current?.traceparent)
        }
        near.publisher.publish(WheelTurned(number: 1), traceparent: trace)
        try await settle(near, far)
        #expect(traces.all == [trace])
        // A handler posts a notification by itself, as code without events does.
        let posting = near.publisher.subscribe(to: WheelAnswered.self) { [self] in post($0.number, to: center) }
        near.publisher.publish(WheelAnswered(number: 2), traceparent: trace)
        try await settle(near, far)
        #expect(traces.all.count > 1 && traces.all.allSatisfy { $0 == trace })
        for subscription in [subscription, posting] { subscription.cancel() }
    }

    @Test func throughTwoPublishersOnOneCenter() async throws {
        let seen = observe(center)
        let (first, second) = (Station(center), Station(center))
        first.publisher.publish(WheelTurned(number: 1))
        try await settle(first, second)
        second.publisher.publish(WheelTurned(number: 2))
        try await settle(first, second)
        post(3, to: center)
        try await settle(first, second)
        #expect(first.numbers == [1, 2, 3])
        #expect(second.numbers == [1, 2, 3])
        #expect(seen.all == [1, 2, 3])
    }

    @Test func throughOnePublisherOnTwoCenters() async throws {
        let other = NotificationCenter()
        let (seen, seenThere) = (observe(center), observe(other))
        let station = Station(center, other)
        post(1, to: center)
        try await settle(station)
        #expect(station.numbers == [1])
        #expect(seen.all == [1])
        #expect(seenThere.all == [1])
    }

    @Test func throughACircleOfTwoPublishersAndTwoCenters() async throws {
        let other = NotificationCenter()
        let (seen, seenThere) = (observe(center), observe(other))
        let (first, second) = (Station(center, other), Station(center, other))
        first.publisher.publish(WheelTurned(number: 1))
        try await settle(first, second)
        // The event reaches the second station by two ways, and each way ends there.
        #expect(first.numbers == [1])
        #expect(Set(second.numbers) == [1])
        #expect(seen.all.count + seenThere.all.count <= 4)
    }

    @Test func throughAnObserverInTheMiddleOfAHandler() async throws {
        let station = Station(center)
        let subscription = station.publisher.subscribe(to: WheelAnswered.self) { [center] event in
            center.post(name: Notification.Name("WheelTurned"), object: nil, userInfo: ["number": event.number])
        }
        let seen = observe(center)
        station.publisher.publish(WheelAnswered(number: 1))
        try await settle(station)
        #expect(station.numbers == [1])
        #expect(seen.all == [1])
        withExtendedLifetime(subscription) {}
    }

    @Test func whenAnObserverPostsTheSameNameAgainThatIsAnEventOfItsOwn() async throws {
        let station = Station(center)
        let observer = center.addObserver(forName: Notification.Name("WheelTurned"), object: nil, queue: nil) {
            [center] in
            guard let number = $0.userInfo?["number"] as? Int, number < 3 else { return }
            center.post(name: Notification.Name("WheelTurned"), object: nil, userInfo: ["number": number + 1])
        }
        station.publisher.publish(WheelTurned(number: 1))
        try await settle(station)
        // A center calls its observers in any order: the next notification may overtake the one before.
        #expect(station.numbers.sorted() == [1, 2, 3])
        center.removeObserver(observer)
    }

    @Test func onManyThreads() async throws {
        let seen = observe(center)
        let (first, second) = (Station(center), Station(center))
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for round in 0..<50 {
                let number = thread * 1_000 + round
                switch thread {
                case 0: first.publisher.publish(WheelTurned(number: number))
                case 1: second.publisher.publish(WheelTurned(number: number))
                default: post(number, to: center)
                }
            }
        }
        try await settle(first, second)
        for numbers in [first.numbers, second.numbers, seen.all] {
            #expect(numbers.count == 200)
            for thread in 0..<4 {
                #expect(numbers.filter { $0 / 1_000 == thread } == (0..<50).map { thread * 1_000 + $0 })
            }
        }
    }
}
