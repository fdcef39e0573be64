import Dispatch
import DomainEvents
import TestSupport
import Testing

@Suite("Events arrive in the order in which they were published", .timeLimit(.minutes(5)))
struct OrderTests {
    private let publisher = EventPublisher()
    private let numbers = Array(0..<2_000)

    @Test func onThePublishingThreadAtOnce() {
        let log = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { log.add($0.number) }
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(log.all == numbers)
        subscription.cancel()
    }

    @Test(arguments: [false, true])
    func onAQueueOneAtATimeAlsoWhenItIsConcurrent(isConcurrent: Bool) async {
        let queue = DispatchQueue(label: "handlers", attributes: isConcurrent ? .concurrent : [])
        let log = Collected<Int>()
        let running = Counter()
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(queue)) { event in
            #expect(running.add() == 1)
            running.add(-1)
            log.add(event.number)
        }
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(await log.wait(for: numbers.count) == numbers)
        subscription.cancel()
    }

    @Test func onTheMainActor() async {
        let log = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self, on: .main) { event in
            MainActor.preconditionIsolated()
            log.add(event.number)
        }
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(await log.wait(for: numbers.count) == numbers)
        subscription.cancel()
    }

    @Test func inAnAsynchronousHandlerEachCallAfterTheOneBefore() async {
        let log = Collected<Int>()
        let running = Counter()
        let subscription = publisher.subscribe(to: Ping.self) { event in
            #expect(running.add() == 1)
            await Task.yield()
            running.add(-1)
            log.add(event.number)
        }
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(await log.wait(for: numbers.count) == numbers)
        subscription.cancel()
    }

    @Test func inASequence() async throws {
        var iterator = publisher.events(of: Ping.self).makeAsyncIterator()
        for number in numbers { publisher.publish(Ping(number)) }
        var seen: [Int] = []
        while seen.count < numbers.count, let event = try await iterator.next() { seen.append(event.number) }
        #expect(seen == numbers)
    }

    @Test func ofATaskThatChangesThreads() async {
        let inline = Collected<Int>()
        let queued = Collected<Int>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { inline.add($0.number) },
            publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers"))) {
                queued.add($0.number)
            },
        ]
        await Task.detached { [publisher, numbers] in
            for number in numbers {
                publisher.publish(Ping(number))
                await Task.yield()
            }
        }.value
        #expect(inline.all == numbers)
        #expect(await queued.wait(for: numbers.count) == numbers)
        for subscription in subscriptions { subscription.cancel() }
    }
}

@Suite("What a handler publishes follows the event in hand", .timeLimit(.minutes(5)))
struct NestedPublishTests {
    private let publisher = EventPublisher()

    @Test func itIsDeliveredAfterTheOuterEventHasReachedAllAndBeforePublishReturns() {
        let log = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] event in
                log.add("first \(event.number)")
                publisher.publish(Pong(event.number))
                log.add("first done")
            },
            publisher.subscribe(to: Ping.self) { event in log.add("second \(event.number)") },
            publisher.subscribe(to: Pong.self) { event in log.add("pong \(event.number)") },
        ]
        publisher.publish(Ping(1))
        #expect(log.all == ["first 1", "first done", "second 1", "pong 1"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func theSameTypeMayBePublishedRecursivelyAndIsDeliveredBreadthFirst() {
        let log = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] event in
            log.add(event.number)
            guard event.number < 8 else { return }
            publisher.publish(Ping(event.number * 2))
            publisher.publish(Ping(event.number * 2 + 1))
        }
        publisher.publish(Ping(1))
        #expect(log.all == Array(1...15))
        subscription.cancel()
    }

    @Test func aLongChainNeedsNeitherStackNorMemoryThatGrows() {
        let count = Counter()
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] event in
            count.add()
            if event.number > 0 { publisher.publish(Ping(event.number - 1)) }
        }
        publisher.publish(Ping(100_000))
        #expect(count.count == 100_001)
        subscription.cancel()
    }

    @Test func aHandlerOfAnotherPublisherHearsItAfterTheOuterEventToo() {
        let other = EventPublisher()
        let log = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { event in
                other.publish(Ping(event.number + 1))
                log.add("published elsewhere")
            },
            publisher.subscribe(to: Ping.self) { _ in log.add("here") },
            other.subscribe(to: Ping.self) { _ in log.add("there") },
        ]
        publisher.publish(Ping())
        #expect(log.all == ["published elsewhere", "here", "there"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onAQueueItFollowsTheHandlerThatPublishedIt() async {
        let log = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers"))) { [publisher] _ in
                publisher.publish(Pong())
                log.add("handler done")
            },
            publisher.subscribe(to: Pong.self) { _ in log.add("pong") },
        ]
        publisher.publish(Ping())
        #expect(await log.wait(for: 2) == ["handler done", "pong"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func subscribingInAHandlerStartsWithTheNextEvent() {
        let log = Collected<Int>()
        let inner = Holder<Subscription>()
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] event in
            if event.number == 1 { inner.swap(publisher.subscribe(to: Ping.self) { log.add($0.number) }) }
        }
        publisher.publish(Ping(1))
        publisher.publish(Ping(2))
        #expect(log.all == [2])
        subscription.cancel()
    }

    @Test func anObjectWhoseEndPublishesMayDieWithADelivery() {
        let live = Counter()
        let log = Collected<Int>()
        let inner = Holder<Subscription>()
        // The nested delivery is the last that holds the subscriber, and so the object.
        func subscribeTracked() -> Subscription {
            let tracked = Tracked(live) { [publisher] in publisher.publish(Ping(-1)) }
            return publisher.subscribe(to: Pong.self) { _ in withExtendedLifetime(tracked) {} }
        }
        inner.swap(subscribeTracked())
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] event in
                log.add(event.number)
                guard event.number == 1 else { return }
                publisher.publish(Pong(1))
                inner.swap(nil)
            }
        ]
        publisher.publish(Ping(1))
        #expect(log.all == [1, -1])
        #expect(live.count == 0)
        for subscription in subscriptions { subscription.cancel() }
    }
}
