import Dispatch
import DomainEvents
import TestSupport
import Testing

@Suite("A publisher passes events on to another one", .timeLimit(.minutes(5)))
struct ForwardingTests {
    private let publisher = EventPublisher()
    private let log = Collected<String>()

    private func watch(_ publisher: EventPublisher, _ name: String) -> Subscription {
        publisher.subscribe(to: Ping.self) { [log] in log.add("\(name) \($0.number)") }
    }

    @Test func withIdentityAndCause() async throws {
        let other = EventPublisher()
        let contexts = Collected<EventContext?>()
        var iterator = other.deliveries(of: Ping.self).makeAsyncIterator()
        let subscriptions = [
            publisher.forward(Ping.self, to: other),
            publisher.subscribe(to: Ping.self) { _ in contexts.add(EventContext.current) },
            publisher.subscribe(to: Pong.self) { [publisher] _ in publisher.publish(Ping(1)) },
        ]
        let cause = try await publisher.send(Pong())
        let there = try #require(try await iterator.next()).context
        let here = try #require(contexts.all[0])
        #expect(there.id == here.id)
        #expect(there.cause == cause)
        #expect(there.root == cause)
        #expect(there.nanosecondsSinceEpoch == here.nanosecondsSinceEpoch)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onceAlsoInACircleAndInADiamond() {
        let (left, right, end) = (EventPublisher(), EventPublisher(), EventPublisher())
        let subscriptions = [
            watch(publisher, "start"), watch(left, "left"), watch(right, "right"), watch(end, "end"),
            publisher.forward(Ping.self, to: left),
            publisher.forward(Ping.self, to: right),
            left.forward(Ping.self, to: end),
            right.forward(Ping.self, to: end),
            end.forward(Ping.self, to: publisher),
            end.forward(Ping.self, to: end),
        ]
        publisher.publish(Ping(1))
        #expect(log.all == ["start 1", "left 1", "right 1", "end 1"])
        right.publish(Ping(2))
        #expect(log.all.suffix(4) == ["right 2", "end 2", "start 2", "left 2"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func untilItIsCancelled() {
        let other = EventPublisher()
        let there = watch(other, "there")
        let link = publisher.forward(Ping.self, to: other)
        #expect(publisher.isWanted("Ping"))
        publisher.publish(Ping(1))
        link.cancel()
        publisher.publish(Ping(2))
        #expect(log.all == ["there 1"])
        #expect(!publisher.isWanted("Ping"))
        there.cancel()
    }

    @Test func untilTheOtherIsReleased() {
        let live: () -> Bool
        let link: Subscription
        do {
            let other = EventPublisher()
            weak let target = other
            live = { target != nil }
            link = publisher.forward(Ping.self, to: other)
            let there = watch(other, "there")
            publisher.publish(Ping(1))
            there.cancel()
        }
        #expect(!live())
        publisher.publish(Ping(2))
        #expect(log.all == ["there 1"])
        link.cancel()
    }

    @Test func inOrderWithWhatTheOtherPublishesInHandlers() {
        let other = EventPublisher()
        let subscriptions = [
            publisher.forward(Ping.self, to: other),
            publisher.subscribe(to: Ping.self) { if $0.number == 1 { other.publish(Ping(2)) } },
            watch(publisher, "here"), watch(other, "there"),
        ]
        publisher.publish(Ping(1))
        #expect(log.all == ["here 1", "there 1", "there 2"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func toItsQueuesTasksAndSequencesInOrder() async throws {
        let other = EventPublisher()
        let queued = Collected<Int>()
        var iterator = other.events(of: Ping.self).makeAsyncIterator()
        let subscriptions = [
            publisher.forward(Ping.self, to: other),
            other.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "there"))) { queued.add($0.number) },
        ]
        for number in 0..<1_000 { publisher.publish(Ping(number)) }
        #expect(await queued.wait(for: 1_000) == Array(0..<1_000))
        for number in 0..<1_000 { #expect(try await iterator.next() == Ping(number)) }
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func deliverAndSendReachTheOtherToo() async throws {
        let other = EventPublisher()
        let subscriptions = [publisher.forward(Ping.self, to: other), watch(other, "there"), watch(publisher, "here")]
        let receipt = try await publisher.deliver(Ping(1), within: .seconds(60))
        #expect(receipt.handlers == ["host": 2])
        try await publisher.send(Ping(2))
        #expect(log.all == ["here 1", "there 1", "here 2", "there 2"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func sendWaitsForRoomThereToo() async throws {
        let (other, sent) = (EventPublisher(), Collected<Int>())
        let forwarding = publisher.forward(Ping.self, to: other)
        var iterator = other.events(of: Ping.self, buffering: .waiting(1)).makeAsyncIterator()
        let total = 2 * EventBuffering<Ping>.hardLimitFactor
        let sender = Task { [publisher] in
            for number in 0..<total {
                try await publisher.send(Ping(number))
                sent.add(number)
            }
        }
        await sent.wait(for: 1)
        // If the second `send` can go on, it does so now.
        for _ in 0..<200 { await Task.yield() }
        #expect(sent.count == 1)
        for number in 0..<total { #expect(try await iterator.next() == Ping(number)) }
        try await sender.value
        forwarding.cancel()
    }

    @Test("senders to two publishers that pass events on to each other do not wait for each other's places")
    func sendersInACircle() async throws {
        let (other, sent) = (EventPublisher(), Collected<Int>())
        let links = [publisher.forward(Ping.self, to: other), other.forward(Ping.self, to: publisher)]
        var here = publisher.events(of: Ping.self, buffering: .waiting(1)).makeAsyncIterator()
        var there = other.events(of: Ping.self, buffering: .waiting(1)).makeAsyncIterator()
        try await publisher.send(Ping(0))
        let senders = [publisher, other].enumerated().map { number, publisher in
            Task {
                try await publisher.send(Ping(number + 1))
                sent.add(number)
            }
        }
        // Each sender waits for its first place now; the places come free one after the other.
        for _ in 0..<200 { await Task.yield() }
        #expect(sent.count == 0)
        #expect(try await here.next() == Ping(0))
        for _ in 0..<200 { await Task.yield() }
        #expect(try await there.next() == Ping(0))
        // The second sender waits until the first event has left both.
        let first = try await here.next()
        #expect(try await there.next() == first)
        let second = try await here.next()
        #expect(try await there.next() == second)
        #expect(Set([first?.number, second?.number]) == [1, 2])
        for sender in senders { try await sender.value }
        for link in links { link.cancel() }
    }

    @Test func whatAHandlerThereThrowsIsReportedThere() {
        let other = EventPublisher()
        let subscriptions = [
            publisher.forward(Ping.self, to: other),
            other.subscribe(to: Ping.self) { throw Refused(number: $0.number) },
            other.subscribe(to: HandlerFailed.self) { [log] in log.add("there \($0.error)") },
            publisher.subscribe(to: HandlerFailed.self) { [log] in log.add("here \($0.error)") },
        ]
        publisher.publish(Ping(1))
        #expect(log.all == ["there refused 1"])
        for subscription in subscriptions { subscription.cancel() }
    }
}
